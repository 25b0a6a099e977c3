// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/text_table.h"

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

}  // namespace
}  // namespace orrery
