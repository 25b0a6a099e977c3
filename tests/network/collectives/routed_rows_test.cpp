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

// Starts of 3 experts out of 8 are all experts, in groups of 4: 4 of the 8 sets cross one border.
// 8 of 384 experts on ranks with 12 start at 0, 8 and 16, and only the second crosses one.
TEST(RoutedRows, ConsecutiveExpertsAreOnFewMembers) {
    EXPECT_DOUBLE_EQ(consecutive_groups_hit(2, 4, 3), 1.5);
    EXPECT_DOUBLE_EQ(consecutive_groups_hit(32, 12, 8), 4.0 / 3);
    EXPECT_DOUBLE_EQ(consecutive_groups_hit(8, 16, 8), 1);  // Qwen3 30B on 8 ranks
    EXPECT_DOUBLE_EQ(consecutive_groups_hit(64, 4, 8), 2);  // DeepSeek-V3 on 64
    EXPECT_DOUBLE_EQ(consecutive_groups_hit(8, 1, 8), 8);
    EXPECT_DOUBLE_EQ(consecutive_groups_hit(4, 2, 7), 4);  // from 1: the first group comes last
}

// All tokens of a period, counted one by one.
TEST(RoutedRows, ConsecutiveExpertsAsCounted) {
    for (const unsigned experts : {1U, 2U, 3U, 5U}) {
        constexpr unsigned kGroups = 6;
        for (unsigned k = 1; k <= kGroups * experts; ++k) {
            unsigned hit = 0;
            for (unsigned token = 0; token < kGroups * experts; ++token) {
                unsigned groups = 0;
                for (unsigned i = token * k; i < (token + 1) * k; ++i) {
                    groups |= 1U << (i % (kGroups * experts) / experts);
                }
                hit += static_cast<unsigned>(std::popcount(groups));
            }
            EXPECT_NEAR(consecutive_groups_hit(kGroups, experts, k),
                        static_cast<double>(hit) / (kGroups * experts),
                        1e-12);
        }
    }
}

TEST(RoutedRows, RowsOfConsecutiveExperts) {
    const RoutedRows rows = expected_rows({.ranks = 64,
                                           .servers = 8,
                                           .experts = 256,
                                           .choices = 8,
                                           .consecutive = true,
                                           .tokens = 96});
    EXPECT_NEAR(rows.choices[5], 96 * 8.0 / 64, 1e-9);
    EXPECT_NEAR(rows.distinct[5], 96 * 2.0 / 64, 1e-9);
    EXPECT_NEAR(rows.crossing[5], 96 * 1.0 / 8, 1e-9);
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
