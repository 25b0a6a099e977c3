// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/column_layout.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/render/report_words.h"

namespace orrery {
namespace {

constexpr std::size_t kNarrowest = 12;  // column of words

std::size_t longest_word(const std::string& cell) {
    std::istringstream words{cell};
    std::size_t longest = 0;
    for (std::string word; words >> word;) {
        longest = std::max(longest, num_characters(word));
    }
    return longest;
}

// Narrows the widest column with spare characters by one character, and repeats this until `all` is
// the width of a report or no column has any. Returns the new `all`.
std::size_t shrink(std::size_t all,
                   std::vector<std::size_t>& width,
                   std::vector<std::size_t> spare) {
    for (; all > kReportColumns; --all) {
        std::size_t widest = width.size();
        for (std::size_t i = 0; i < width.size(); ++i) {
            if (spare[i] > 0 && (widest == width.size() || width[i] > width[widest])) {
                widest = i;
            }
        }
        if (widest == width.size()) {
            break;
        }
        --width[widest];
        --spare[widest];
    }
    return all;
}

// Characters that only the title of a column of numbers needs. Its words can stand on several
// lines.
std::size_t spare_of_title(const std::vector<TextRow>& rows, std::size_t column) {
    std::size_t least = longest_word(rows.front()[column]);
    for (std::size_t k = 1; k < rows.size(); ++k) {
        least = std::max(least, num_characters(rows[k][column]));
    }
    const std::size_t title = num_characters(rows.front()[column]);
    return title - std::min(title, least);
}

}  // namespace

ColumnLayout column_layout(const std::vector<TextRow>& rows, const std::vector<bool>& right) {
    const std::size_t columns = right.size();
    std::vector<std::size_t> natural(columns);
    std::vector<std::size_t> spare(columns);  // width beyond the longest word
    std::size_t all = 2 * columns;
    for (std::size_t i = 0; i < columns; ++i) {
        std::size_t least = kNarrowest;
        for (const TextRow& row : rows) {
            natural[i] = std::max(natural[i], num_characters(row[i]));
            least = std::max(least, longest_word(row[i]));
        }
        spare[i] = right[i] || natural[i] < least ? 0 : natural[i] - least;
        all += natural[i];
    }
    std::vector<std::size_t> width = natural;
    if (shrink(all, width, spare) <= kReportColumns) {
        return {width};
    }
    const std::size_t closer = columns - 1;
    width = natural;
    if (shrink(all - closer, width, spare) <= kReportColumns) {
        return {width, 1};
    }
    width = natural;
    all = shrink(all, width, spare);
    for (std::size_t i = 0; i < columns; ++i) {
        spare[i] = right[i] || width[i] < kNarrowest ? 0 : width[i] - kNarrowest;
    }
    all = shrink(all, width, spare);
    for (std::size_t i = 0; i < columns; ++i) {
        spare[i] = right[i] ? spare_of_title(rows, i) : 0;
    }
    return {shrink(all, width, spare) > kReportColumns ? natural : width};
}

}  // namespace orrery
