// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/traffic.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

std::vector<RankPair> pairs(std::initializer_list<std::pair<int, int>> list) {
    std::vector<RankPair> out;
    for (const auto& [from, to] : list) {
        out.push_back({RankId(from), RankId(to)});
    }
    return out;
}

TEST(TrafficSum, SmallPatternsAreWhatTheirNamesSay) {
    EXPECT_EQ(traffic(TrafficPattern::ring, 3, 2, 0), pairs({{0, 1}, {1, 2}, {2, 0}}));
    EXPECT_EQ(traffic(TrafficPattern::rail, 4, 2, 0), pairs({{0, 2}, {1, 3}, {2, 0}, {3, 1}}));
    EXPECT_EQ(traffic(TrafficPattern::incast, 4, 2, 0), pairs({{1, 0}, {2, 0}, {3, 0}}));
    EXPECT_EQ(traffic(TrafficPattern::outcast, 4, 2, 0), pairs({{0, 1}, {0, 2}, {0, 3}}));
    EXPECT_EQ(traffic(TrafficPattern::pairs, 4, 2, 0), pairs({{0, 2}, {1, 3}}));
    EXPECT_TRUE(traffic(TrafficPattern::ring, 1, 1, 0).empty());
    EXPECT_TRUE(traffic(TrafficPattern::rail, 8, 8, 0).empty());  // one node: no other to send to
}

TEST(TrafficSum, APermutationIsOneCycleThroughAllRanks) {
    for (const std::uint32_t n : {2U, 3U, 64U, 1'000U}) {
        const auto flows = traffic(TrafficPattern::permutation, n, 8, 7);
        ASSERT_EQ(flows.size(), n);
        std::set<std::size_t> seen;
        std::size_t at = 0;
        for (std::uint32_t hop = 0; hop < n; ++hop) {
            EXPECT_TRUE(seen.insert(at).second);
            at = index(flows[at].to);
        }
        EXPECT_EQ(at, 0U);
    }
}

TEST(TrafficSum, TheSeedDecidesThePermutation) {
    const auto flows = [](std::uint64_t seed) {
        return traffic(TrafficPattern::permutation, 64, 8, seed);
    };
    EXPECT_EQ(flows(1), flows(1));
    EXPECT_NE(flows(1), flows(2));
    EXPECT_NE(flows(1), flows(std::uint64_t{1} << 32));
}

}  // namespace
}  // namespace orrery
