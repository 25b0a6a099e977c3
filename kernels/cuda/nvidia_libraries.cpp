// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/nvidia_libraries.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace orrery {
namespace {

namespace fs = std::filesystem;

// The folders in a variable's value; empty if it is not set.
std::vector<std::string> folders_of(const char* variable) {
    std::vector<std::string> folders;
    const char* const value = std::getenv(variable);
    std::string rest = value == nullptr ? "" : value;
    while (!rest.empty()) {
        const std::size_t colon = std::min(rest.find(':'), rest.size());
        if (colon > 0) {
            folders.push_back(rest.substr(0, colon));
        }
        rest.erase(0, colon + 1);
    }
    return folders;
}

// Prefixes of Python installations: the active environments, that of the python3 on the path, the
// user's, and the system's.
std::vector<std::string> python_prefixes() {
    std::vector<std::string> prefixes;
    for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        std::ranges::copy(folders_of(variable), std::back_inserter(prefixes));
    }
    std::error_code error;
    for (const std::string& folder : folders_of("PATH")) {
        const fs::path python = fs::canonical(fs::path{folder} / "python3", error);
        if (!error) {
            prefixes.push_back(python.parent_path().parent_path().string());
            break;
        }
    }
    for (const std::string& home : folders_of("HOME")) {
        prefixes.push_back(home + "/.local");
    }
    prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
    return prefixes;
}

// Appends the matching files, or the pattern itself.
void add_matches(const std::string& pattern, std::vector<std::string>& places) {
    glob_t found{};
    if (glob(pattern.c_str(), GLOB_NOCHECK, nullptr, &found) == 0) {
        for (std::size_t i = 0; i < found.gl_pathc; ++i) {
            const std::string place = found.gl_pathv[i];
            if (std::ranges::find(places, place) == places.end()) {
                places.push_back(place);
            }
        }
    }
    globfree(&found);
}

}  // namespace

std::vector<std::string> nvidia_library_places(const std::string& name,
                                               const std::string& folder_of_the_build) {
    std::vector<std::string> places;
    for (const std::string& folder : folders_of("ORRERY_CUDA_LIBRARIES")) {
        places.push_back(folder + "/" + name);
    }
    places.push_back(name);
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        for (const std::string& folder : folders_of(variable)) {
            places.push_back(folder + "/lib64/" + name);
        }
    }
    for (const std::string& folder : folders_of("PYTHONPATH")) {
        add_matches(folder + "/nvidia/*/lib/" + name, places);
    }
    for (const std::string& prefix : python_prefixes()) {
        add_matches(prefix + "/lib/python3*/*-packages/nvidia/*/lib/" + name, places);
    }
    places.push_back(folder_of_the_build + "/" + name);
    return places;
}

}  // namespace orrery
