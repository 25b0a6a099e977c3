// SPDX-License-Identifier: Apache-2.0
// What writing a checkpoint asks of the file system, behind an interface so that a test can make
// any of it fail. Each operation is on the disk (fsync) when it returns well. Error::where is the
// path.
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
    // With its parents; fine if it is there.
    virtual Result<void> create_folder(const Path& path) = 0;
    // A file of these bytes, one piece after the other, in place of what was there.
    virtual Result<void> write_file(const Path& path, const Pieces& pieces) = 0;
    // Replaces a file of the new name; a folder must not be there.
    virtual Result<void> rename(const Path& from, const Path& to) = 0;
    // With all that is inside; fine if it is not there.
    virtual Result<void> remove(const Path& path) = 0;
};

// The one of this machine.
FileSystem& disk();

// What links lead to: renaming over a link would replace the link.
std::filesystem::path behind_links(std::filesystem::path path);

}  // namespace orrery
