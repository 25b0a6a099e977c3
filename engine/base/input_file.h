// SPDX-License-Identifier: Apache-2.0
// Opens a file that a user has named. On Linux an ifstream also opens a folder, and reads it as an
// empty file. Here a folder is an error.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/base/result.h"

namespace orrery {

// `hint` says what the file should be. It becomes the hint of the error.
Result<std::ifstream> open_input(const std::filesystem::path& path, const std::string& hint = {});
// The whole content. A read error of the disk is an error, not the end of the file.
Result<std::string> read_input(const std::filesystem::path& path, const std::string& hint = {});

}  // namespace orrery
