// SPDX-License-Identifier: Apache-2.0
// Checks that bytes are clean text: well-formed UTF-8 (RFC 3629) without control characters other
// than tab and line ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

struct TextFault {
    std::string what;  // empty: clean
    std::uint32_t line = 1;
    std::uint32_t column = 1;  // in characters
};

TextFault find_text_fault(std::string_view text);

// Number of characters of well-formed UTF-8 (not of grapheme clusters): the width on a terminal.
std::size_t num_characters(std::string_view text);

// The first `width` characters.
std::string cut(std::string text, std::size_t width);

}  // namespace orrery
