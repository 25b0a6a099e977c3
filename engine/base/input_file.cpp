// SPDX-License-Identifier: Apache-2.0
#include "engine/base/input_file.h"

#include <array>

namespace orrery {

Result<std::ifstream> open_input(const std::filesystem::path& path, const std::string& hint) {
    std::error_code ignored;
    const auto or_else = [&](const char* otherwise) { return hint.empty() ? otherwise : hint; };
    if (!std::filesystem::exists(path, ignored)) {
        if (std::filesystem::is_symlink(path, ignored)) {
            return fail(path.string(),
                        "is a symbolic link that leads nowhere",
                        "`readlink -v` shows where");
        }
        return fail(path.string(), "there is no such file", or_else("check the path"));
    }
    if (std::filesystem::is_directory(path, ignored)) {
        return fail(path.string(), "is a folder, not a file", or_else("name a file in it"));
    }
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        return fail(path.string(), "can't be read", "check its permissions");
    }
    return file;
}

Result<std::string> read_input(const std::filesystem::path& path, const std::string& hint) {
    Result<std::ifstream> file = open_input(path, hint);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    std::string text;
    std::array<char, 65536> piece{};
    while (file->read(piece.data(), piece.size()) || file->gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(file->gcount()));
    }
    if (file->bad()) {
        return fail(path.string(), "can't be read to its end", "is the disk that it is on well?");
    }
    return text;
}

}  // namespace orrery
