// SPDX-License-Identifier: Apache-2.0
#include "engine/input_file.h"

namespace orrery {

Result<std::ifstream> open_input(const std::filesystem::path& path, const std::string& hint) {
    std::error_code ignored;
    const auto or_else = [&](const char* otherwise) { return hint.empty() ? otherwise : hint; };
    if (!std::filesystem::exists(path, ignored)) {
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

}  // namespace orrery
