// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pretokenize.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace orrery {
namespace {

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> found;
    while (!text.empty()) {
        const std::string_view word = first_word(text);
        found.emplace_back(word);
        text.remove_prefix(word.size());
    }
    return found;
}

using Words = std::vector<std::string>;

TEST(Pretokenize, CutsAsTheRulesOfGpt2Say) {
    EXPECT_EQ(words("Hello world"), (Words{"Hello", " world"}));
    EXPECT_EQ(words("we're I'll don't 'tis"),
              (Words{"we", "'re", " I", "'ll", " don", "'t", " '", "tis"}));
    EXPECT_EQ(words("abc123 45,x!?"), (Words{"abc", "123", " 45", ",", "x", "!?"}));
    EXPECT_EQ(words("a   b"), (Words{"a", "  ", " b"}));
    EXPECT_EQ(words("a\n\nb"), (Words{"a", "\n", "\n", "b"}));
    EXPECT_EQ(words("a \n"), (Words{"a", " \n"}));
    EXPECT_EQ(words(" "), (Words{" "}));
    EXPECT_EQ(words("\tx"), (Words{"\t", "x"}));
}

TEST(Pretokenize, LettersAreThoseOfUnicode) {
    EXPECT_EQ(words("größer — Ελλάδα"), (Words{"größer", " —", " Ελλάδα"}));
    EXPECT_EQ(words("x²½"), (Words{"x", "²½"}));
    EXPECT_EQ(words("a\u00A0b"), (Words{"a", "\u00A0", "b"}));  // a space, but not U+0020
    EXPECT_EQ(words("\xFF\xFEz"), (Words{"\xFF\xFE", "z"}));
    EXPECT_EQ(words("\xC3"), (Words{"\xC3"}));
}

TEST(Pretokenize, WordsJoinedAreTheText) {
    constexpr unsigned kSeed = 5;
    SCOPED_TRACE(kSeed);
    std::mt19937 random{kSeed};
    for (int i = 0; i < 500; ++i) {
        std::string text;
        for (auto n = random() % 40; n > 0; --n) {
            text += random() % 2 == 0 ? " '\n\tas1."[random() % 8] : static_cast<char>(random());
        }
        std::string joined;
        for (const std::string& word : words(text)) {
            ASSERT_FALSE(word.empty());
            joined += word;
        }
        EXPECT_EQ(joined, text);
    }
}

TEST(Pretokenize, ALongWordBeginsWithItsFirstBytes) {
    for (const std::string text : {"Hello world", "'tis", "   a", "      ", "\u00A0\u00A0\u00A0b",
                                   "größer", "a\n", " ", "12345678 x", "\t\t\t", "..... "}) {
        for (std::size_t longest = 1; longest <= text.size() + 1; ++longest) {
            EXPECT_EQ(first_word(text, longest), first_word(text).substr(0, longest))
                << text << " " << longest;
        }
    }
}

}  // namespace
}  // namespace orrery
