// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/column_layout.h"

#include <gtest/gtest.h>

#include <numeric>

namespace orrery {
namespace {

std::size_t width_of(const ColumnLayout& layout) {
    return std::accumulate(layout.width.begin(), layout.width.end(), std::size_t{2}) +
           layout.gap * (layout.width.size() - 1);
}

TEST(ColumnLayout, KeepsTheWidthsOfATableThatFits) {
    const ColumnLayout layout = column_layout({{"name", "n"}, {"a b", "1,234"}}, {false, true});
    EXPECT_EQ(layout.width, (std::vector<std::size_t>{4, 5}));
    EXPECT_EQ(layout.gap, 2U);
}

TEST(ColumnLayout, TitlesOfNumbersTakeSeveralLinesWhereATableIsTooWide) {
    TextRow head{"use"};
    TextRow row{"lost"};
    std::vector<bool> right{false};
    for (int i = 0; i < 8; ++i) {
        head.emplace_back("spares and copies");
        row.emplace_back("1,234,567");
        right.push_back(true);
    }
    const ColumnLayout layout = column_layout({head, row}, right);
    EXPECT_LE(width_of(layout), 100U);
    for (std::size_t i = 1; i < layout.width.size(); ++i) {
        EXPECT_GE(layout.width[i], row[i].size());
    }
}

TEST(ColumnLayout, NumbersStayWholeWhereNothingHelps) {
    const TextRow row(8, "123,456,789,012");
    const ColumnLayout layout = column_layout({row, row}, std::vector<bool>(8, true));
    EXPECT_EQ(layout.width, (std::vector<std::size_t>(8, 15)));
}

}  // namespace
}  // namespace orrery
