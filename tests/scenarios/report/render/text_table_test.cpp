// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/text_table.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(TextTable, AlignsCharactersNotBytes) {
    EXPECT_EQ(text_table({{"name", "µs"}, {"ä", "100"}, {"long name", ""}}, 1),
              "  name        µs\n  ä          100\n  long name\n");
    EXPECT_EQ(text_table({}, 0), "");
}

TEST(Wrapped, KeepsWordsWholeAndLinesShort) {
    EXPECT_EQ(wrapped("one two  three\nfour", 9, 2), "  one two\n  three\n  four\n");
    EXPECT_EQ(wrapped("incomprehensible a", 5, 0), "incomprehensible\na\n");
    EXPECT_EQ(wrapped("", 10, 2), "");
}

TEST(CellLines, BreakBetweenWordsAndLongWordsWhereTheyMust) {
    using Lines = std::vector<std::string>;
    EXPECT_EQ(cell_lines("one two", 7), Lines{"one two"});
    EXPECT_EQ(cell_lines("one two", 4), (Lines{"one", "two"}));
    EXPECT_EQ(cell_lines("abcdef g", 3), (Lines{"abc", "def", "g"}));
    EXPECT_EQ(cell_lines("zero-plus_plus/dgx", 11), (Lines{"zero-plus_", "plus/dgx"}));
    EXPECT_EQ(cell_lines("a-incomprehensible", 9), (Lines{"a-incompr", "ehensible"}));
    EXPECT_EQ(cell_lines("9 x tp 2 + 7 x tp 2", 12), (Lines{"9 x tp 2 +", "7 x tp 2"}));
    EXPECT_EQ(cell_lines("a + bcd efghij", 8), (Lines{"a + bcd", "efghij"}));
    EXPECT_EQ(cell_lines("", 3), Lines{""});
    EXPECT_EQ(cell_lines("     ", 3), Lines{""});
}

TEST(TextTable, ColumnsCanStandCloser) {
    EXPECT_EQ(text_table({{"a", "b"}}, std::vector<bool>{false, false}, 1), "  a b\n");
}

}  // namespace
}  // namespace orrery
