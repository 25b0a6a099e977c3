// SPDX-License-Identifier: Apache-2.0
// The merges that are learned, against a version that counts all pairs of all words again each
// time.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "runtime/data/byte_pair_encoding.h"
#include "runtime/data/pretokenize.h"

namespace orrery {
namespace {

using Merge = BytePairEncoding::Merge;

std::vector<Merge> slow_merges(std::string_view text, std::int64_t vocabulary) {
    std::vector<std::vector<std::int32_t>> words;
    while (!text.empty()) {
        const std::string_view word = first_word(text);
        auto& ids = words.emplace_back();
        for (const char c : word) {
            ids.push_back(byte_token(static_cast<unsigned char>(c)));
        }
        text.remove_prefix(word.size());
    }
    std::vector<Merge> merges;
    while (256 + static_cast<std::int64_t>(merges.size()) < vocabulary) {
        std::map<Merge, int> counts;
        for (const auto& word : words) {
            for (std::size_t i = 0; i + 1 < word.size(); ++i) {
                ++counts[{word[i], word[i + 1]}];
            }
        }
        Merge best;
        int most = 1;
        for (const auto& [pair, count] : counts) {  // ascending: of equals the first stays
            if (count > most) {
                best = pair;
                most = count;
            }
        }
        if (most < 2) {
            break;
        }
        const auto id = static_cast<std::int32_t>(256 + merges.size());
        merges.push_back(best);
        for (auto& word : words) {
            std::vector<std::int32_t> next;
            for (std::size_t i = 0; i < word.size(); ++i) {
                const bool here = i + 1 < word.size() && Merge{word[i], word[i + 1]} == best;
                next.push_back(here ? id : word[i]);
                i += here ? 1 : 0;
            }
            word = next;
        }
    }
    return merges;
}

TEST(TrainBytePairs, MergesTheMostFrequentPairEachTime) {
    constexpr unsigned kSeed = 3;
    SCOPED_TRACE(kSeed);
    std::mt19937 random{kSeed};
    for (int round = 0; round < 30; ++round) {
        std::string text;
        for (int i = 0; i < 400; ++i) {
            text += "aab bc "[random() % 7];
        }
        EXPECT_EQ(BytePairEncoding::train(text, 300).merges(), slow_merges(text, 300));
    }
}

TEST(TrainBytePairs, StopsWhereNoPairOccursTwice) {
    EXPECT_EQ(BytePairEncoding::train("abcd", 1000).vocabulary(), 256);
    EXPECT_EQ(BytePairEncoding::train("", 1000).vocabulary(), 256);
    EXPECT_EQ(BytePairEncoding::train("ab ab", 1000).vocabulary(), 257);
}

TEST(TrainBytePairs, NoTokenCrossesAWord) {
    std::string text;
    for (int i = 0; i < 50; ++i) {
        text += "x, y. ";
    }
    const BytePairEncoding encoding = BytePairEncoding::train(text, 300);
    for (std::int32_t id = 256; id < encoding.vocabulary(); ++id) {
        const std::string token = encoding.decode({{id}});
        EXPECT_EQ(first_word(token), token);
    }
}

}  // namespace
}  // namespace orrery
