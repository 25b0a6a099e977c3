# `cmake --install BUILD --prefix DIR`, and Debian packages by `cpack -G DEB` in the build folder.
# Components: the program with its catalogue (orrery); modules that need libraries of their own
# (simgrid, mpi); the library of studies for C++ programs (dev). One Debian package each.
# The program finds its catalogue relative to itself (scenarios/format/catalogue/catalogue.h), so
# the installed folder may be moved.
set(share share/orrery)
install(TARGETS orrery RUNTIME DESTINATION bin COMPONENT orrery)
# Modules are optional: a build of the target `orrery` alone may lack them. The program's
# INSTALL_RPATH leads to them.
foreach(module orrery_cuda orrery_mpi orrery_simgrid)
    if(TARGET ${module})
        string(REPLACE orrery_ "" component ${module})
        string(REPLACE cuda orrery component ${component})  # it loads what it needs by itself
        install(TARGETS ${module} LIBRARY DESTINATION lib/orrery COMPONENT ${component} OPTIONAL)
    endif()
endforeach()

foreach(folder catalogue serving reproductions)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/scenarios/${folder} DESTINATION ${share}/scenarios
            COMPONENT orrery)
endforeach()
file(GLOB examples ${CMAKE_SOURCE_DIR}/scenarios/*.yaml ${CMAKE_SOURCE_DIR}/scenarios/*.csv
     ${CMAKE_SOURCE_DIR}/scenarios/*.txt)
list(FILTER examples EXCLUDE REGEX "CMakeLists.txt$")
install(FILES ${examples} ${CMAKE_SOURCE_DIR}/scenarios/README.md
        DESTINATION ${share}/scenarios COMPONENT orrery)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/schema DESTINATION ${share} COMPONENT orrery)
# Manual pages, by the program itself (scenarios/program/man.h).
install(CODE "execute_process(
    COMMAND ${CMAKE_BINARY_DIR}/bin/orrery man -o
            \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\"
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT orrery)
# Completions, where the shells look for them.
foreach(shell_and_file bash:bash-completion/completions/orrery zsh:zsh/site-functions/_orrery
        fish:fish/vendor_completions.d/orrery.fish)
    string(REPLACE ":" ";" parts ${shell_and_file})
    list(GET parts 0 shell)
    list(GET parts 1 file)
    install(CODE "
        set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/${file}\")
        get_filename_component(folder \"\${file}\" DIRECTORY)
        file(MAKE_DIRECTORY \"\${folder}\")
        execute_process(COMMAND ${CMAKE_BINARY_DIR}/bin/orrery completion ${shell}
                        OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)"
            COMPONENT orrery)
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/orrery RENAME copyright
        COMPONENT orrery)

# find_package(orrery): the floors up to the reports, and every header.
include(CMakePackageConfigHelpers)
set(package lib/cmake/orrery)
set(libraries)
foreach(library options engine kernels kernels_cpu network models communication runtime serve
                format studies report)
    list(APPEND libraries orrery_${library})
    set_target_properties(orrery_${library} PROPERTIES EXPORT_NAME ${library})
endforeach()
install(TARGETS ${libraries} EXPORT orrery ARCHIVE DESTINATION lib/orrery COMPONENT dev)
install(EXPORT orrery NAMESPACE orrery:: FILE orrery-targets.cmake DESTINATION ${package}
        COMPONENT dev)
configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/orrery-config.cmake.in ${CMAKE_BINARY_DIR}/orrery-config.cmake
    INSTALL_DESTINATION ${package} PATH_VARS share)
write_basic_package_version_file(
    ${CMAKE_BINARY_DIR}/orrery-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/orrery-config.cmake
              ${CMAKE_BINARY_DIR}/orrery-config-version.cmake
        DESTINATION ${package} COMPONENT dev)
foreach(room engine kernels network models runtime scenarios)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/${room} DESTINATION include/orrery COMPONENT dev
            FILES_MATCHING PATTERN "*.h"
            REGEX "/scenarios/(catalogue|program|serving|gpu_bench|report/page)$" EXCLUDE)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_CONTACT "The Orrery authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Simulator of GPU clusters that train transformers")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Smaller than by gzip, in less time; read by dpkg since Debian 12.
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL orrery dev)
set(CPACK_DEBIAN_ORRERY_PACKAGE_NAME orrery)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME liborrery-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
string(CONCAT CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "orrery (= ${PROJECT_VERSION}), libcpp-httplib-dev, libexpected-dev, libfmt-dev, libgloo-dev, "
    "libpugixml-dev, libsqlite3-dev, libyaml-cpp-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Orrery's studies as a C++ library, for find_package(orrery)")
set(CPACK_COMPONENT_MPI_DESCRIPTION "Lets orrery sweep run under mpirun")
set(CPACK_COMPONENT_SIMGRID_DESCRIPTION "Lets orrery simulate networks by SimGrid")
foreach(module mpi simgrid)
    if(TARGET orrery_${module})
        list(APPEND CPACK_COMPONENTS_ALL ${module})
        string(TOUPPER ${module} name)
        set(CPACK_DEBIAN_${name}_PACKAGE_NAME orrery-${module})
        set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "orrery (= ${PROJECT_VERSION})")
    endif()
endforeach()
include(CPack)
