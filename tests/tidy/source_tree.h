// SPDX-License-Identifier: Apache-2.0
// The files of a checkout: everything but hidden folders (save .ci) and builds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace orrery::tidy {

struct SourceFile {
    std::string path;  // from the root, "engine/base/units.h"
    std::string text;

    std::string room() const;       // "engine", or empty at the root
    std::string extension() const;  // ".h", or empty
    bool is_cpp() const;            // C++ or CUDA
};

struct SourceTree {
    std::vector<SourceFile> files;  // by path

    const SourceFile* find(const std::string& path) const;
};

SourceTree read_tree(const std::filesystem::path& root);

}  // namespace orrery::tidy
