// SPDX-License-Identifier: Apache-2.0
#include "kernels/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace orrery {
namespace {

// Philox4x32-10 written out from the paper (Salmon et al., SC 2011, section 3.3).
std::array<std::uint32_t, 4> slow_philox(std::array<std::uint32_t, 4> x,
                                         std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t left = 0xD2511F53ull * x[0];
        const std::uint64_t right = 0xCD9E8D57ull * x[2];
        x = {static_cast<std::uint32_t>(right >> 32) ^ x[1] ^ key[0],
             static_cast<std::uint32_t>(right),
             static_cast<std::uint32_t>(left >> 32) ^ x[3] ^ key[1],
             static_cast<std::uint32_t>(left)};
        key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
    }
    return x;
}

TEST(Random, IsPhiloxOfTheDocumentedCounter) {
    const RandomKey key{.seed = 0x123456789ABCDEFull,
                        .purpose = RandomPurpose::mlp_dropout,
                        .stream = 17,
                        .round = 99};
    const std::uint64_t block = 0x500000007ull;
    EXPECT_EQ(random_words(key, block),
              slow_philox({7, 5u | 4u << 24, 17, 99}, {0x89ABCDEFu, 0x01234567u}));
}

TEST(Random, EveryPartOfTheKeyMatters) {
    const RandomKey key{.seed = 1, .purpose = RandomPurpose::mlp_dropout, .stream = 2, .round = 3};
    std::set<std::array<std::uint32_t, 4>> seen{random_words(key, 5), random_words(key, 6)};
    RandomKey other = key;
    other.seed = 2;
    seen.insert(random_words(other, 5));
    other = key;
    other.purpose = RandomPurpose::attention_dropout;
    seen.insert(random_words(other, 5));
    other = key;
    other.stream = 3;
    seen.insert(random_words(other, 5));
    other = key;
    other.round = 4;
    seen.insert(random_words(other, 5));
    EXPECT_EQ(seen.size(), 6u);
}

TEST(Random, WordsReadFromAnyElementOnAreTheSame) {
    const RandomKey key{.seed = 9};
    RandomWords all{key, 0};
    std::vector<std::uint32_t> words;
    for (int i = 0; i < 40; ++i) {
        words.push_back(all());
    }
    for (std::int64_t first = 0; first < 20; ++first) {
        RandomWords from{key, first};
        for (std::size_t i = 0; i < 20; ++i) {
            ASSERT_EQ(from(), words[static_cast<std::size_t>(first) + i]) << first;
        }
    }
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
    constexpr std::int64_t kCount = 40000;
    const RandomKey key{.seed = 4};
    RandomWords words{key, 0};
    double uniform_sum = 0;
    double sum = 0;
    double squares = 0;
    double neighbours = 0;
    for (std::int64_t i = 0; i < kCount; ++i) {
        const double u = static_cast<double>(uniform(words()));
        ASSERT_GE(u, 0.0);
        ASSERT_LT(u, 1.0);
        const double z = static_cast<double>(normal(key, i));
        uniform_sum += u;
        sum += z;
        squares += z * z;
        neighbours += z * static_cast<double>(normal(key, i + 1));
    }
    EXPECT_NEAR(uniform_sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12.0 / kCount));
    EXPECT_NEAR(sum / kCount, 0.0, 5 / std::sqrt(kCount));
    EXPECT_NEAR(squares / kCount, 1.0, 5 * std::sqrt(2.0 / kCount));
    EXPECT_NEAR(neighbours / kCount, 0.0, 5 / std::sqrt(kCount));
}

TEST(Random, NormalsAreTheNormalsOfTheirElements) {
    const RandomKey key{.seed = 11, .stream = 3};
    for (std::int64_t first = (std::int64_t{1} << 33) - 5; first < (std::int64_t{1} << 33) + 5;
         ++first) {
        for (std::size_t count = 0; count < 19; ++count) {
            std::vector<float> values(count);
            normals(key, first, values);
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(values[i], normal(key, first + static_cast<std::int64_t>(i)));
            }
        }
    }
}

}  // namespace
}  // namespace orrery
