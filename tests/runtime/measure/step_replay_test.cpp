// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/step_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/runtime/two_ranks.h"

namespace orrery {
namespace {

// Rank 1's first kernel lost 15 us to others: without it everything comes 15 us earlier.
TEST(StepReplay, LeavesOutWhatOtherProcessesTook) {
    const std::vector<RecordedOp> first{
        op(0, 0, 10, 10), op(1, 10, 34, 24), op(2, 34, 39, 5), op(3, 39, 48, 9)};
    const std::vector<RecordedOp> second{
        op(0, 0, 30, 15), op(1, 30, 34, 4), op(2, 34, 44, 10), op(3, 44, 48, 4)};
    const auto steps =
        measured_steps(two_ranks(), {rank_of(first, 48, 51), rank_of(second, 48, 51, 1)});
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->front().lost_of_rank(RankId{1})[0], us(15));
    EXPECT_EQ(steps->front().replayed, us(51 - 15));
    const auto undisturbed =
        measured_steps(two_ranks(), {rank_of(first, 48, 51), rank_of(second, 48, 51)});
    ASSERT_TRUE(undisturbed);
    EXPECT_EQ(undisturbed->front().replayed, us(51));
}

TEST(StepReplay, OfUndisturbedKernelsIsTheStep) {
    std::mt19937 random(11);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<std::vector<RecordedOp>> ranks(2);
        std::int64_t now[2] = {0, 0};
        for (std::uint32_t i = 0; i < 4; ++i) {
            const std::int64_t arrival = std::max(now[0], now[1]);
            for (std::size_t r = 0; r < 2; ++r) {
                const std::int64_t takes = 1 + random() % 50;
                const std::int64_t end = i % 2 == 1 ? arrival + takes : now[r] + takes;
                ranks[r].push_back(op(i, now[r], end, end - now[r]));
                now[r] = end;
            }
        }
        const std::int64_t end = std::max(now[0], now[1]) + 2;
        const auto steps = measured_steps(
            two_ranks(), {rank_of(ranks[0], now[0], end), rank_of(ranks[1], now[1], end)});
        ASSERT_TRUE(steps);
        EXPECT_EQ(steps->front().replayed, us(end)) << trial;
    }
}

}  // namespace
}  // namespace orrery
