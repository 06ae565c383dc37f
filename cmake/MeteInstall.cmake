# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

set(METE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/mete")

file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/mete/*.h")
install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/mete")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# As they lie in the source, for the links between them; what is for those who change mete stays there.
file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md")
file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.*")
install(FILES ${pages} DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs")
install(FILES ${examples} DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
install(TARGETS mete_static mete_shared EXPORT mete)
if(METE_PROGRAM)
    install(TARGETS mete_program)
    install(FILES "${PROJECT_SOURCE_DIR}/man/mete.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
    include(MeteSystemd)
endif()

# find_package(mete) gives mete::mete (shared) and mete::mete_static.
install(EXPORT mete NAMESPACE mete:: FILE mete-targets.cmake DESTINATION "${METE_PACKAGE_DIR}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/mete-config.cmake.in" mete-config.cmake
    INSTALL_DESTINATION "${METE_PACKAGE_DIR}")
write_basic_package_version_file(mete-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/mete-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/mete-config-version.cmake"
    DESTINATION "${METE_PACKAGE_DIR}")

# The prefix in mete.pc is found from where the file lies, so that an installed
# tree may be moved.
file(RELATIVE_PATH METE_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/mete.pc.in" mete.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/mete.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
