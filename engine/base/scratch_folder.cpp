// SPDX-License-Identifier: Apache-2.0
#include "engine/base/scratch_folder.h"

#include <stdlib.h>

#include <system_error>
#include <utility>

namespace orrery {
namespace {

namespace fs = std::filesystem;

// Empty if it cannot be made.
fs::path new_folder(const fs::path& parent, std::string_view prefix) {
    std::string name = (parent / prefix).string() + "-XXXXXX";
    return mkdtemp(name.data()) == nullptr ? fs::path{} : fs::path{name};
}

}  // namespace

Result<ScratchFolder> ScratchFolder::make(std::string_view prefix) {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    fs::path made = error ? fs::path{} : new_folder(parent, prefix);
    if (made.empty()) {
        return fail("", "there is no folder for temporary files", "set TMPDIR");
    }
    return ScratchFolder{std::move(made)};
}

Result<ScratchFolder> ScratchFolder::make_in(const fs::path& parent, std::string_view prefix) {
    std::error_code ignored;  // mkdtemp fails, too, if the parent is missing
    fs::create_directories(parent, ignored);
    fs::path made = new_folder(parent, prefix);
    if (made.empty()) {
        return fail(
            parent.string(), "no folder can be made here", "a folder that you may write to");
    }
    return ScratchFolder{std::move(made)};
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) {
        fs::remove_all(path_, ignored);
    }
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept {
    path_.swap(other.path_);
}

// Swaps: `other` then owns, and later removes, the folder of this object.
ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
    path_.swap(other.path_);
    return *this;
}

}  // namespace orrery
