// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/utf8.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(TextFault, CleanTextHasNone) {
    EXPECT_EQ(find_text_fault("").what, "");
    EXPECT_EQ(find_text_fault("a: b\r\n\tµ — 漢字 😀\n").what, "");
}

TEST(TextFault, TellsWhereTheFirstBadByteIs) {
    const TextFault nul = find_text_fault(std::string_view{"ab\nc\0d", 6});
    EXPECT_EQ(nul.what, "a NUL byte: this is a binary file");
    EXPECT_EQ(nul.line, 2U);
    EXPECT_EQ(nul.column, 2U);
    // A character of two bytes is one column.
    EXPECT_EQ(find_text_fault("µ\x01").column, 2U);
}

TEST(TextFault, FindsEveryKindOfMalformedUtf8) {
    for (const char* text : {"\xff",
                             "\x80",
                             "\xc0\x80",
                             "\xc3",
                             "\xe0\x80\x80",
                             "\xed\xa0\x80",
                             "\xf0\x80\x80\x80",
                             "\xf4\x90\x80\x80",
                             "\xf5\x80\x80\x80",
                             "\xe2\x82",
                             "\xc3("}) {
        EXPECT_EQ(find_text_fault(text).what, "not UTF-8 text");
    }
}

TEST(NumCharacters, CountsCodePoints) {
    EXPECT_EQ(num_characters("abc"), 3U);
    EXPECT_EQ(num_characters("█µ"), 2U);
}

}  // namespace
}  // namespace orrery
