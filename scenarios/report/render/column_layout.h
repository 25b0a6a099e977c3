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

// Fits a table into the width of a report. Columns of words shrink first, and break between words;
// columns of numbers never shrink. Then the gaps shrink, words are broken, and titles of numbers
// take several lines. If that is not enough, all columns keep the width of their cells. The first
// row is the head; `right` says which columns hold numbers.
ColumnLayout column_layout(const std::vector<TextRow>& rows, const std::vector<bool>& right);

}  // namespace orrery
