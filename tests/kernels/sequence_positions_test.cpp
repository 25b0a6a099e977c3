// SPDX-License-Identifier: Apache-2.0
#include "kernels/sequence_positions.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/value_shard.h"

namespace orrery {
namespace {

std::vector<SequencePositions> samples() {
    std::vector<SequencePositions> all;
    for (const std::int64_t length : {1, 2, 5, 8}) {
        for (const std::int64_t first : {0, 3}) {
            all.push_back(contiguous_positions(length, first));
        }
    }
    for (std::int64_t rank = 0; rank < 3; ++rank) {
        all.push_back(balanced_positions(4, rank, 3));
    }
    return all;
}

TEST(SequencePositions, CountBelowIsACountOneByOne) {
    for (const SequencePositions& positions : samples()) {
        for (std::int64_t position = -2; position < 30; ++position) {
            std::int64_t count = 0;
            for (std::int64_t i = 0; i < positions.length; ++i) {
                count += positions.of(i) < position ? 1 : 0;
            }
            EXPECT_EQ(positions.count_below(position), count) << position;
        }
    }
}

TEST(SequencePositions, BalancedRanksHoldEveryPositionOnceAndEqualShareOfPairs) {
    constexpr std::int64_t kRanks = 4;
    constexpr std::int64_t kLength = 6;
    std::vector<int> holders(kRanks * kLength);
    std::vector<std::int64_t> pairs(kRanks);
    for (std::int64_t rank = 0; rank < kRanks; ++rank) {
        const SequencePositions positions = balanced_positions(kLength, rank, kRanks);
        for (std::int64_t i = 0; i < kLength; ++i) {
            ++holders[static_cast<std::size_t>(positions.of(i))];
            pairs[static_cast<std::size_t>(rank)] += positions.of(i) + 1;
            EXPECT_TRUE(i == 0 || positions.of(i) > positions.of(i - 1));
        }
    }
    EXPECT_EQ(holders, std::vector<int>(kRanks * kLength, 1));
    EXPECT_EQ(pairs, std::vector<std::int64_t>(kRanks, pairs[0]));
}

TEST(ValueShard, NumbersElementsByTheirPlaceInTheWhole) {
    const ValueShard shard{.sequence = balanced_positions(4, 1, 2),
                           .batch = 3,
                           .width = 5,
                           .first_column = 10,
                           .global_width = 20};
    EXPECT_EQ(shard.size(), 60);
    EXPECT_EQ(shard.row_start(0), 2 * 3 * 20 + 10);                // position 2, sequence 0
    EXPECT_EQ(shard.row_start(2 * 3 + 1), (4 * 3 + 1) * 20 + 10);  // position 4, sequence 1
    const ValueShard whole{.sequence = contiguous_positions(4), .batch = 3, .width = 5};
    EXPECT_EQ(whole.row_start(7), 35);
}

}  // namespace
}  // namespace orrery
