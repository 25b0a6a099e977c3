// SPDX-License-Identifier: Apache-2.0
#include "engine/base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace orrery {
namespace {

TEST(NearestRank, IsTheLeastValueThatEnoughDoNotExceed) {
    // Wikipedia's example of the nearest-rank method.
    const std::vector<int> five{15, 20, 35, 40, 50};
    EXPECT_EQ(nearest_rank(five, 5), 15);
    EXPECT_EQ(nearest_rank(five, 30), 20);
    EXPECT_EQ(nearest_rank(five, 40), 20);
    EXPECT_EQ(nearest_rank(five, 50), 35);
    EXPECT_EQ(nearest_rank(five, 100), 50);
    EXPECT_EQ(nearest_rank(five, 0), 15);
    EXPECT_EQ(nearest_rank_of<int>({40, 15, 50, 20}, 50), 20) << "the lower one of two";
    EXPECT_EQ(nearest_rank_of<double>({}, 50), 0.0);
}

// In floating point 0.05 * 140 lies above 7, and would give the eighth.
TEST(NearestRank, CountsExactly) {
    std::vector<int> many(140);
    std::iota(many.begin(), many.end(), 1);
    EXPECT_EQ(nearest_rank(many, 5), 7);
    EXPECT_EQ(nearest_rank(many, 95), 133);
}

TEST(Quantile, LiesBetweenTwoValues) {
    EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 0.5), 2.5);
    EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4, 5}, 0.9), 4.6);
    EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4, 5}, 1), 5);
    EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
    EXPECT_EQ(quantile({}, 0.5), 0);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median({9, 1, 3}), 3);
}

TEST(Moments, AreOfTheValuesAndOfTheirPopulation) {
    const Moments four = moments({2, 4, 4, 6});
    EXPECT_DOUBLE_EQ(four.mean, 4);
    EXPECT_DOUBLE_EQ(four.deviation(), std::sqrt(2));
    EXPECT_DOUBLE_EQ(four.sample_deviation(), std::sqrt(8.0 / 3));
    EXPECT_EQ(moments({7}).sample_deviation(), 0);
    EXPECT_EQ(moments({}).deviation(), 0);
}

TEST(QuartileSpread, IsTheRelativeDeviationOfANormalDistribution) {
    // Quartiles of N(10, 1) lie 0.6745 from its middle.
    EXPECT_NEAR(quartile_spread({10 - 0.6745, 10, 10 + 0.6745}, 10), 0.6745 / 13.5, 1e-12);
    EXPECT_EQ(quartile_spread({5, 5, 5}, 5), 0);
}

}  // namespace
}  // namespace orrery
