// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_text.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ShellText, MarksAreForComparisonsAndNotForPeople) {
    const std::string unset = std::string{"a"} + kUnsetBegin + "${X}" + kMarkEnd + "b";
    const std::string unknown = std::string{"a"} + kUnknownBegin + "$(date)" + kMarkEnd;
    std::string text;
    EXPECT_TRUE(known_text(unset, text));
    EXPECT_EQ(text, "ab");
    EXPECT_FALSE(known_text(unknown, text));
    EXPECT_EQ(readable(unset), "a${X}b");
    EXPECT_EQ(readable(unknown), "a$(date)");
}

TEST(ShellText, EveryCharacterKeepsItsPlace) {
    PlacedText text;
    EXPECT_EQ(text.place(7), 7u);
    text.add("ab", 3);
    PlacedText more;
    more.add('c', 9);
    text.add(more);
    EXPECT_EQ(text.chars, "abc");
    EXPECT_EQ(text.at, (std::vector<std::uint32_t>{3, 3, 9}));
    EXPECT_EQ(text.place(7), 3u);
}

}  // namespace
}  // namespace orrery
