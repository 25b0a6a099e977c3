// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/text_stream.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

std::string byte_by_byte(TextStream& stream, const std::string& bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        text += stream.add(bytes.substr(i, 1), i + 1 == bytes.size());
    }
    return text;
}

TEST(TextStream, NeverCutsACharacter) {
    TextStream stream;
    EXPECT_EQ(stream.add("a\xC3", false), "a");
    EXPECT_EQ(stream.add("\xA9", false), "\xC3\xA9");
    EXPECT_EQ(stream.add("\xF0\x9F\x98", false), "");
    EXPECT_EQ(stream.add("\x80z", true), "\xF0\x9F\x98\x80z");
}

TEST(TextStream, BytesThatAreNoCharacterAreReplaced) {
    const std::string kReplaced = "\xEF\xBF\xBD";
    for (const auto& [bytes, text] : std::vector<std::pair<std::string, std::string>>{
             {"\x80 b", kReplaced + " b"},                         // no first byte
             {"\xC0\xAF", kReplaced + kReplaced},                  // overlong
             {"\xED\xA0\x80", kReplaced + kReplaced + kReplaced},  // a surrogate
             {"\xE2\x82", kReplaced},                              // the end is missing
             {"\xE2\x82x", kReplaced + "x"},
             {"\xFF\xFE", kReplaced + kReplaced}}) {
        TextStream whole;
        EXPECT_EQ(whole.add(bytes, true), text);
        TextStream parts;
        EXPECT_EQ(byte_by_byte(parts, bytes), text);
    }
}

TEST(TextStream, EndsBeforeAStopString) {
    TextStream whole{{"END", "\n\n"}};
    EXPECT_EQ(whole.add("one\ntwo EN\n\nthree END", true), "one\ntwo EN");
    EXPECT_TRUE(whole.stopped());
    EXPECT_EQ(whole.add("more", true), "");
    TextStream parts{{"END", "\n\n"}};
    EXPECT_EQ(byte_by_byte(parts, "one\ntwo EN\n\nthree END"), "one\ntwo EN");
    TextStream none{{"END"}};
    EXPECT_EQ(byte_by_byte(none, "ENEN"), "ENEN");
    EXPECT_FALSE(none.stopped());
}

}  // namespace
}  // namespace orrery
