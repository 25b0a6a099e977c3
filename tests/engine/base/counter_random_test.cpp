// SPDX-License-Identifier: Apache-2.0
#include "engine/base/counter_random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace orrery {
namespace {

TEST(CounterRandom, IsAFunctionOfItsKey) {
    CounterRandom a{7, 11, 13};
    CounterRandom again{7, 11, 13};
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t word = a.next();
        EXPECT_EQ(word, again.next());
        seen.insert(word);
    }
    EXPECT_EQ(seen.size(), 100u);
    EXPECT_NE(CounterRandom(8, 11, 13).next(), CounterRandom(7, 11, 13).next());
    EXPECT_NE(CounterRandom(7, 12, 13).next(), CounterRandom(7, 11, 13).next());
    EXPECT_NE(CounterRandom(7, 11, 14).next(), CounterRandom(7, 11, 13).next());
}

TEST(CounterRandom, KnowsPhiloxsPublishedAnswer) {
    // Random123's kat_vectors: philox4x32 10, all zero.
    CounterRandom random{0, 0, 0};
    EXPECT_EQ(random.next(), 0x6627e8d5e169c58dULL);
    EXPECT_EQ(random.next(), 0xbc57ac4c9b00dbd8ULL);
}

TEST(CounterRandom, UniformNeverReachesAnEnd) {
    CounterRandom random{1, 2, 3};
    double sum = 0;
    for (int i = 0; i < 100000; ++i) {
        const double u = random.uniform();
        ASSERT_GT(u, 0);
        ASSERT_LT(u, 1);
        sum += u;
    }
    EXPECT_NEAR(sum / 100000, 0.5, 4 * 0.2887 / std::sqrt(100000));
}

TEST(CounterRandom, GammaHasMeanOneAndVarianceOneOverItsShape) {
    for (const double shape : {0.3, 0.93, 1.0, 4.5}) {
        CounterRandom random{5, 6, 7};
        constexpr int kDraws = 200000;
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < kDraws; ++i) {
            const double g = random.gamma(shape);
            ASSERT_GE(g, 0);
            sum += g;
            squares += g * g;
        }
        const double mean = sum / kDraws;
        const double sigma = std::sqrt(1 / shape / kDraws);
        EXPECT_NEAR(mean, 1, 4 * sigma) << shape;
        EXPECT_NEAR(squares / kDraws - mean * mean, 1 / shape, 0.05 / shape) << shape;
    }
}

}  // namespace
}  // namespace orrery
