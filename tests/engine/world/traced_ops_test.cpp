// SPDX-License-Identifier: Apache-2.0
#include "engine/world/traced_ops.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery {
namespace {

TEST(TracedOps, OfARankAreThoseBetweenItsNeighbours) {
    std::vector<TracedOp> ops;
    for (const std::uint32_t rank : {0U, 0U, 2U, 2U, 2U, 3U}) {
        ops.push_back({.rank = RankId{rank}});
    }
    const auto first_and_size = [&](std::uint32_t rank) {
        const auto own = ops_of_rank(ops, RankId{rank});
        return std::pair{own.data() - ops.data(), own.size()};
    };
    EXPECT_EQ(first_and_size(0), (std::pair<std::ptrdiff_t, std::size_t>{0, 2}));
    EXPECT_EQ(first_and_size(1).second, 0U);
    EXPECT_EQ(first_and_size(2), (std::pair<std::ptrdiff_t, std::size_t>{2, 3}));
    EXPECT_EQ(first_and_size(3), (std::pair<std::ptrdiff_t, std::size_t>{5, 1}));
    EXPECT_TRUE(ops_of_rank(ops, RankId{4}).empty());
}

}  // namespace
}  // namespace orrery
