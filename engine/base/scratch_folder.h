// SPDX-License-Identifier: Apache-2.0
// A new empty folder with a unique name. The destructor removes it with its contents.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include "engine/base/result.h"

namespace orrery {

class ScratchFolder {
public:
    // PREFIX-XXXXXX (mkdtemp(3)), in the system's folder for temporary files.
    static Result<ScratchFolder> make(std::string_view prefix);
    // The same in `parent`, which is made if it is missing. `parent` stays.
    static Result<ScratchFolder> make_in(const std::filesystem::path& parent,
                                         std::string_view prefix);

    ScratchFolder() = default;  // none
    ~ScratchFolder();
    ScratchFolder(ScratchFolder&& other) noexcept;
    ScratchFolder& operator=(ScratchFolder&& other) noexcept;

    // Empty if this object has no folder.
    const std::filesystem::path& path() const { return path_; }

private:
    explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;
};

}  // namespace orrery
