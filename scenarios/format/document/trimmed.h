// SPDX-License-Identifier: Apache-2.0
// A line's text without the blanks around it and the carriage return of a line end from Windows.
#pragma once

#include <string_view>

namespace orrery {

inline std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    const std::size_t last = text.find_last_not_of(" \t\r");
    return first == text.npos ? std::string_view{} : text.substr(first, last - first + 1);
}

}  // namespace orrery
