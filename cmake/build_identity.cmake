# Writes OUTPUT, a source with the identity of the build, if it differs from what is there:
#   cmake -D ROOT=… -D OUTPUT=… -D VERSION=… -D COMPILER=… -D FEATURES=a,b -P build_identity.cmake
# Runs in every build and takes about a tenth of a second.
cmake_minimum_required(VERSION 3.25)

# What decides a result: sources and how they are compiled. The catalogue is read at run time and
# has a hash of its own; pages and tests decide no result.
set(patterns)
foreach(room engine network kernels models runtime scenarios)
    foreach(kind CMakeLists.txt *.cpp *.h *.cu *.cuh)
        list(APPEND patterns "${ROOT}/${room}/${kind}")
    endforeach()
endforeach()
file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE "${ROOT}" ${patterns})
file(GLOB build RELATIVE "${ROOT}" "${ROOT}/CMakeLists.txt" "${ROOT}/cmake/*.cmake")
list(APPEND files ${build})
list(SORT files)
set(all "")
foreach(file IN LISTS files)
    file(SHA256 "${ROOT}/${file}" hash)
    string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 sources "${all}")

# Only of a clone of this very tree: a tarball may lie inside another repository.
set(commit "")
set(changed false)
find_program(git git)
if(git)
    execute_process(COMMAND "${git}" -C "${ROOT}" rev-parse --show-prefix HEAD
        OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE status)
    # The prefix is empty at the top of a clone.
    if(status EQUAL 0 AND answer MATCHES "^\n([0-9a-f]+)\n$")
        set(commit "${CMAKE_MATCH_1}")
        execute_process(COMMAND "${git}" -C "${ROOT}" diff --quiet HEAD -- CMakeLists.txt cmake
            engine network kernels models runtime scenarios RESULT_VARIABLE status ERROR_QUIET)
        if(NOT status EQUAL 0)
            set(changed true)
        endif()
    endif()
endif()

string(REPLACE "," "\", \"" features "${FEATURES}")
if(features)
    set(features "\"${features}\"")
endif()
set(text "// Written by cmake/build_identity.cmake.
#include \"scenarios/format/provenance/version.h\"

namespace orrery {

BuildIdentity identity_of_this_program() {
    return {.version = \"${VERSION}\",
            .commit = \"${commit}\",
            .changed = ${changed},
            .sources = \"${sources}\",
            .compiler = \"${COMPILER}\",
            .features = {${features}}};
}

}  // namespace orrery
")
set(before "")
if(EXISTS "${OUTPUT}")
    file(READ "${OUTPUT}" before)
endif()
if(NOT before STREQUAL text)
    file(WRITE "${OUTPUT}" "${text}")
endif()
