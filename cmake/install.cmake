# `cmake --install BUILD --prefix DIR`, and a Debian package by `cpack -G DEB` in the build folder.
# The program finds its catalogue relative to itself (scenarios/format/catalogue/catalogue.h), so
# the installed folder may be moved.
install(TARGETS orrery RUNTIME DESTINATION bin)
# Modules are optional: a build of the target `orrery` alone may lack them. The program's
# INSTALL_RPATH leads to them.
foreach(module orrery_cuda orrery_mpi orrery_simgrid)
    if(TARGET ${module})
        install(TARGETS ${module} LIBRARY DESTINATION lib/orrery OPTIONAL)
    endif()
endforeach()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/scenarios/catalogue DESTINATION share/orrery/scenarios)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/scenarios/serving DESTINATION share/orrery/scenarios)
file(GLOB examples ${CMAKE_SOURCE_DIR}/scenarios/*.yaml ${CMAKE_SOURCE_DIR}/scenarios/*.csv
     ${CMAKE_SOURCE_DIR}/scenarios/*.txt)
list(FILTER examples EXCLUDE REGEX "CMakeLists.txt$")
install(FILES ${examples} ${CMAKE_SOURCE_DIR}/scenarios/README.md
        DESTINATION share/orrery/scenarios)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/schema DESTINATION share/orrery)
# Manual pages, by the program itself (scenarios/program/man.h).
install(CODE "execute_process(
    COMMAND ${CMAKE_BINARY_DIR}/bin/orrery man -o
            \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\"
    COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/orrery RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_CONTACT "The Orrery authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Simulator of GPU clusters that train transformers")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
