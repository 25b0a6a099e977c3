// SPDX-License-Identifier: Apache-2.0
// Rows of words as aligned columns, and prose as lines of a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

using TextRow = std::vector<std::string>;

// Rows of equal length; the first `left_columns` are left-aligned. Two spaces stand before each
// column.
std::string text_table(const std::vector<TextRow>& rows, std::size_t left_columns);
// `right`: which columns are right-aligned, one for each. `gap`: spaces before each but the first.
std::string text_table(const std::vector<TextRow>& rows,
                       const std::vector<bool>& right,
                       std::size_t gap = 2);

// Words in lines of at most `width` characters, each after `indent` spaces; a longer word has a
// line of its own.
std::string wrapped(std::string_view prose, std::size_t width, std::size_t indent);

// The same for a cell, which has one line or more; a longer word goes on in the next one.
std::vector<std::string> cell_lines(const std::string& cell, std::size_t width);

}  // namespace orrery
