// SPDX-License-Identifier: Apache-2.0
// Widths of the columns of a table on a terminal.
#pragma once

#include <cstddef>
#include <vector>

#include "scenarios/report/render/text_table.h"

namespace orrery {

struct ColumnLayout {
    std::vector<std::size_t> width;
    std::size_t gap = 2;  // between columns
};

// Columns of words shrink until a line is as wide as a report, between words first; numbers never
// do. Next the columns move together, words are broken, and titles of numbers take several lines.
// Where that is not enough, all stay as wide as their cells.
// The first row is the head; `right` says which columns hold numbers.
ColumnLayout column_layout(const std::vector<TextRow>& rows, const std::vector<bool>& right);

}  // namespace orrery
