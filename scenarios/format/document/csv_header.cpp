// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/csv_header.h"

#include <fstream>
#include <string_view>

namespace orrery {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;  // bytes of a line; a device has lines without end

std::string bounded_line(std::istream& in) {
    std::string line;
    for (char c = 0; line.size() < kLongestLine && in.get(c) && c != '\n';) {
        line += c;
    }
    return line;
}

}  // namespace

std::string csv_header(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::string line = bounded_line(in);
    if (constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
        line.starts_with(kByteOrderMark)) {
        line.erase(0, kByteOrderMark.size());
    }
    while (in && line.starts_with('#')) {
        line = bounded_line(in);
    }
    if (line.ends_with('\r')) {
        line.pop_back();
    }
    return line;
}

}  // namespace orrery
