// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/csv_header.h"

#include <fstream>

namespace orrery {

std::string csv_header(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::string line;
    while (std::getline(in, line) && line.starts_with('#')) {
    }
    if (line.ends_with('\r')) {
        line.pop_back();
    }
    return line;
}

}  // namespace orrery
