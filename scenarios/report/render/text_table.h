// SPDX-License-Identifier: Apache-2.0
// Text tables with aligned columns, and prose wrapped to a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

using TextRow = std::vector<std::string>;

// Rows of equal length; the first `left_columns` are left-aligned. Two spaces come before each
// column.
std::string text_table(const std::vector<TextRow>& rows, std::size_t left_columns);
// `right`: for each column, whether it is right-aligned. `gap`: spaces before each column but the
// first.
std::string text_table(const std::vector<TextRow>& rows,
                       const std::vector<bool>& right,
                       std::size_t gap = 2);

// Words in lines of at most `width` characters, each after `indent` spaces. A longer word gets a
// line of its own.
std::string wrapped(std::string_view prose, std::size_t width, std::size_t indent);

// The same for a cell, as one line or more. A longer word continues on the next line.
std::vector<std::string> cell_lines(const std::string& cell, std::size_t width);

}  // namespace orrery
