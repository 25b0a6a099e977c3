// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/byte_pair_encoding.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace orrery {
namespace {

std::int32_t id(char c) {
    return byte_token(static_cast<unsigned char>(c));
}

TEST(BytePairEncoding, BytesStandInTheOrderOfGpt2) {
    EXPECT_EQ(id('!'), 0);
    EXPECT_EQ(id('A'), 32);  // as in GPT-2's vocab.json
    EXPECT_EQ(id('a'), 64);
    EXPECT_EQ(id('\n'), 198);
    EXPECT_EQ(id(' '), 220);
    std::set<std::int32_t> all;
    for (int b = 0; b < 256; ++b) {
        all.insert(byte_token(static_cast<unsigned char>(b)));
        EXPECT_EQ(token_byte(byte_token(static_cast<unsigned char>(b))), b);
    }
    EXPECT_EQ(all.size(), 256u);
}

TEST(BytePairEncoding, TheEarlierMergeGoesFirst) {
    const BytePairEncoding encoding{{{id('b'), id('c')}, {id('a'), id('b')}, {256, id('d')}}};
    EXPECT_EQ(encoding.vocabulary(), 259);
    EXPECT_EQ(encoding.encode("abcd"), (std::vector<std::int32_t>{id('a'), 258}));
    EXPECT_EQ(encoding.encode("abd"), (std::vector<std::int32_t>{257, id('d')}));
    EXPECT_EQ(encoding.decode({{id('a'), 258, 9999, -1}}), "abcd");
}

TEST(BytePairEncoding, AnyBytesComeBack) {
    std::string text;
    for (int i = 0; i < 200; ++i) {
        text += "the theme of these things, isn't it " + std::to_string(i % 7) + "\n";
    }
    const BytePairEncoding encoding = BytePairEncoding::train(text, 400);
    EXPECT_LT(encoding.encode(text).size(), text.size() / 3);
    constexpr unsigned kSeed = 11;
    SCOPED_TRACE(kSeed);
    std::mt19937 random{kSeed};
    for (int i = 0; i < 300; ++i) {
        std::string bytes;
        for (auto n = random() % 60; n > 0; --n) {
            bytes += random() % 3 == 0 ? static_cast<char>(random()) : text[random() % text.size()];
        }
        EXPECT_EQ(encoding.decode(encoding.encode(bytes)), bytes);
    }
}

TEST(BytePairEncoding, AWordWithoutEndTakesTimeByItsLength) {
    const std::string text(3'000'000, 'x');
    const BytePairEncoding encoding = BytePairEncoding::train(text, 300);
    EXPECT_EQ(encoding.decode(encoding.encode(text)), text);
}

}  // namespace
}  // namespace orrery
