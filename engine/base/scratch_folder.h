// SPDX-License-Identifier: Apache-2.0
// A new empty folder with a name of its own, removed with all that is in it when this goes.
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
    // The same in a folder that is made, to stay, if it isn't there.
    static Result<ScratchFolder> make_in(const std::filesystem::path& parent,
                                         std::string_view prefix);

    ScratchFolder() = default;  // none
    ~ScratchFolder();
    ScratchFolder(ScratchFolder&& other) noexcept;
    ScratchFolder& operator=(ScratchFolder&& other) noexcept;

    // Empty if there is none.
    const std::filesystem::path& path() const { return path_; }

private:
    explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;
};

}  // namespace orrery
