// SPDX-License-Identifier: Apache-2.0
// What kind of table a file is, by the line that names its columns.
#pragma once

#include <filesystem>
#include <string>

namespace orrery {

// The first line that is no comment, as it stands; empty if there is none, or no such file.
std::string csv_header(const std::filesystem::path& file);

}  // namespace orrery
