# SPDX-License-Identifier: Apache-2.0
# The units of systemd, in lib below each prefix, where systemd looks whatever
# libraries do.  The service names the program by its whole path, which is known when it
# is installed: the prefix may be another than that of the configuration.

install(CODE "
    set(METE_UNIT_PROGRAM \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/mete\")
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/mete.service.in\" \"${PROJECT_BINARY_DIR}/mete.service\" @ONLY)"
    COMPONENT systemd)
install(FILES "${PROJECT_BINARY_DIR}/mete.service" "${PROJECT_SOURCE_DIR}/packaging/mete.socket"
    DESTINATION "lib/systemd/system" COMPONENT systemd)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/mete.sysusers" DESTINATION "lib/sysusers.d" RENAME mete.conf
    COMPONENT systemd)
