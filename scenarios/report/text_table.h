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
// `right`: which columns are right-aligned, one for each.
std::string text_table(const std::vector<TextRow>& rows, const std::vector<bool>& right);

// Words in lines of at most `width` characters, each after `indent` spaces; a longer word has a
// line of its own.
std::string wrapped(std::string_view prose, std::size_t width, std::size_t indent);

}  // namespace orrery
