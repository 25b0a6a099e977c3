// SPDX-License-Identifier: Apache-2.0
// Expected copies of a uniform router, against values worked out elsewhere and against counting.
#include "network/collectives/routed_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>

namespace orrery {
namespace {

TEST(RoutedRows, DistinctGroupsOfDeepSeekV3) {
    // 256 experts, 8 choices.
    EXPECT_NEAR(expected_groups_hit(2, 128, 8), 1.99302, 5e-6);
    EXPECT_NEAR(expected_groups_hit(4, 64, 8), 3.61421, 5e-6);
    EXPECT_NEAR(expected_groups_hit(4, 32, 8), 3.62901, 5e-6);  // 8 servers, limited to 4
    EXPECT_NEAR(expected_groups_hit(8, 32, 8), 5.29465, 5e-6);
    EXPECT_NEAR(expected_groups_hit(64, 4, 8), 7.67575, 5e-6);
    EXPECT_NEAR(expected_groups_hit(32, 4, 8), 7.35937, 5e-6);  // of 64 ranks, 4 of 8 servers
    EXPECT_DOUBLE_EQ(expected_groups_hit(1, 8, 8), 1);
    EXPECT_DOUBLE_EQ(expected_groups_hit(8, 1, 8), 8);
}

// All choices of 3 out of 8 experts, in groups of 2.
TEST(RoutedRows, TheMeanIsThatOfAllChoices) {
    double groups = 0;
    int sets = 0;
    for (unsigned set = 0; set < 256; ++set) {
        if (std::popcount(set) != 3) {
            continue;
        }
        ++sets;
        for (int group = 0; group < 4; ++group) {
            groups += (set >> (2 * group) & 3U) != 0;
        }
    }
    EXPECT_NEAR(expected_groups_hit(4, 2, 3), groups / sets, 1e-12);
}

TEST(RoutedRows, RowsOfAServerLimitedRouter) {
    const RoutedRows rows = expected_rows({.ranks = 64,
                                           .servers = 8,
                                           .experts = 256,
                                           .choices = 8,
                                           .server_limit = 4,
                                           .tokens = 100});
    const auto sum = [](const std::vector<double>& of, std::size_t first, std::size_t count) {
        return std::accumulate(of.begin() + static_cast<std::ptrdiff_t>(first),
                               of.begin() + static_cast<std::ptrdiff_t>(first + count),
                               0.0);
    };
    EXPECT_NEAR(sum(rows.choices, 64, 64), 800, 1e-9);
    EXPECT_NEAR(sum(rows.distinct, 64, 64), 735.937, 5e-4);
    EXPECT_NEAR(sum(rows.crossing, 8, 8), 362.901, 5e-4);
}

// A member with twice the mean gets twice the rows, but of each token no more than one where rows
// are sent once.
TEST(RoutedRows, SharesOfMembers) {
    RoutedRows rows =
        expected_rows({.ranks = 4, .servers = 2, .experts = 8, .choices = 2, .tokens = 100});
    const double mean = rows.choices[0];
    const double distinct = rows.distinct[0];
    scale_to_shares(rows, std::vector<std::uint32_t>{500'000, 250'000, 250'000, 0});
    EXPECT_NEAR(rows.choices[0], 2 * mean, 1e-9);
    EXPECT_NEAR(rows.choices[4 + 1], mean, 1e-9);
    EXPECT_EQ(rows.choices[3], 0);
    EXPECT_NEAR(rows.distinct[0], std::min(100.0, 2 * distinct), 1e-9);
    EXPECT_GT(rows.crossing[0], rows.crossing[1]);
    EXPECT_LE(rows.crossing[0], 100);
}

}  // namespace
}  // namespace orrery
