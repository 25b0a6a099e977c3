// SPDX-License-Identifier: Apache-2.0
// The file operations of checkpoints, behind an interface so that tests can make each of them fail.
// When an operation returns without an error, its effect is on the disk (fsync). Error::where is
// the path.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

class FileSystem {
public:
    using Path = std::filesystem::path;
    using Pieces = std::vector<std::span<const std::byte>>;

    virtual ~FileSystem() = default;
    // Creates the folder and its parents; no error if it exists.
    virtual Result<void> create_folder(const Path& path) = 0;
    // Writes a file with the concatenated pieces, replacing an old one.
    virtual Result<void> write_file(const Path& path, const Pieces& pieces) = 0;
    // Replaces a file with the new name; a folder must not have it.
    virtual Result<void> rename(const Path& from, const Path& to) = 0;
    // Removes the path and its contents; no error if it does not exist.
    virtual Result<void> remove(const Path& path) = 0;
};

// The file system of this machine.
FileSystem& disk();

// The target of symbolic links: renaming over a link would replace the link.
std::filesystem::path behind_links(std::filesystem::path path);

}  // namespace orrery
