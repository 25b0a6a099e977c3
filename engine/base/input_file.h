// SPDX-License-Identifier: Apache-2.0
// A file that a user has named, opened for reading. A folder can be opened on Linux, and then reads
// as an empty file: it is an error here.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/base/result.h"

namespace orrery {

// `hint` says what the file should be.
Result<std::ifstream> open_input(const std::filesystem::path& path, const std::string& hint = {});
// All of it. That a disk does not give it is an error, too, and not an early end.
Result<std::string> read_input(const std::filesystem::path& path, const std::string& hint = {});

}  // namespace orrery
