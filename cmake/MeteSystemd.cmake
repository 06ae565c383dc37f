# SPDX-License-Identifier: Apache-2.0
# The units of systemd.  They name the program by its whole path, which is known
# when it is installed: the prefix may be another than that of the configuration.

set(METE_UNIT_DIR "lib/systemd/system") # below each prefix where systemd looks, whatever libraries do

# mete_unit(<name> <about> <after> <relation> <options> <install>): from mete.service.in.
function(mete_unit name about after relation options install)
    install(CODE "
        set(METE_UNIT_NAME \"${name}\")
        set(METE_UNIT_ABOUT \"${about}\")
        set(METE_UNIT_AFTER \"${after}\")
        set(METE_UNIT_RELATION \"${relation}\")
        set(METE_UNIT_OPTIONS \"${options}\")
        set(METE_UNIT_INSTALL \"${install}\")
        set(METE_UNIT_PROGRAM \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/mete\")
        configure_file(\"${PROJECT_SOURCE_DIR}/packaging/mete.service.in\" \"${PROJECT_BINARY_DIR}/units/${name}\" @ONLY)"
        COMPONENT systemd)
    install(FILES "${PROJECT_BINARY_DIR}/units/${name}" DESTINATION "${METE_UNIT_DIR}" COMPONENT systemd)
endfunction()

mete_unit(mete.service "with sockets of its own" "" "Conflicts=mete-activated.service" ""
    "WantedBy=multi-user.target")
mete_unit(mete-activated.service "with sockets of systemd" " mete.socket"
    "Requires=mete.socket\nConflicts=mete.service" " --resp fd:0 --http fd:1" "Also=mete.socket")
install(FILES "${PROJECT_SOURCE_DIR}/packaging/mete.socket" DESTINATION "${METE_UNIT_DIR}" COMPONENT systemd)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/mete.sysusers" DESTINATION "lib/sysusers.d" RENAME mete.conf
    COMPONENT systemd)
