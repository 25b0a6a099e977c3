// SPDX-License-Identifier: Apache-2.0
// The header of a table, by which its kind is known.
#pragma once

#include <filesystem>
#include <string>

namespace orrery {

// The first line that is no comment; empty if there is none, or no such file.
std::string csv_header(const std::filesystem::path& file);

}  // namespace orrery
