// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/measured_timeline.h"

#include <gtest/gtest.h>

#include "tests/runtime/two_ranks.h"

namespace orrery {
namespace {

TEST(MeasuredTimeline, RanksWaitUntilTheLastOfThemHasCome) {
    const auto steps = measured_steps(
        two_ranks(),
        {rank_of(
             {op(0, 0, 10, 10), op(1, 10, 35, 25), op(2, 35, 40, 5), op(3, 40, 50, 10)}, 50, 53),
         rank_of(
             {op(0, 0, 30, 30), op(1, 30, 34, 4), op(2, 34, 44, 10), op(3, 44, 50, 6)}, 52, 53)});
    ASSERT_TRUE(steps) << steps.error().to_string();
    const MeasuredStep& step = steps->front();
    EXPECT_EQ(step.of_rank(RankId{0})[1].data_start, us(30));
    EXPECT_EQ(step.of_rank(RankId{1})[1].data_start, us(30));
    EXPECT_EQ(step.of_rank(RankId{0})[3].data_start, us(44));
    EXPECT_EQ(step.of_rank(RankId{0})[0].data_start, us(0));
    EXPECT_EQ(step.ranks[0].loss_data, us(52));
    EXPECT_EQ(step.duration(), us(53));
    EXPECT_TRUE(step.undisturbed());
    // Nothing was lost: going through it again takes as long (gaps are the host's own here).
    EXPECT_EQ(step.replayed, us(53));
}

// Two equal sums, one of which idled 10 us longer without a processor than the other: lost.
TEST(MeasuredTimeline, TransfersLoseWhatTheyIdleLongerThanTheQuickestOfTheirCall) {
    const auto rank = [] {
        return rank_of(
            {op(0, 0, 10, 10), op(1, 10, 15, 2), op(2, 15, 20, 5), op(3, 20, 35, 2)}, 35, 37, 1);
    };
    const auto steps = measured_steps(two_ranks(), {rank(), rank()});
    ASSERT_TRUE(steps);
    const auto lost = steps->front().lost_of_rank(RankId{1});
    EXPECT_EQ(lost[1], us(0));
    EXPECT_EQ(lost[3], us(10));
    EXPECT_EQ(steps->front().replayed, us(27));
}

TEST(MeasuredTimeline, RecordingsOfAnotherProgramAreErrors) {
    EXPECT_FALSE(measured_steps(two_ranks(), {rank_of({}, 1, 1)}));
    EXPECT_FALSE(measured_steps(two_ranks(), {rank_of({op(4, 0, 1, 1)}, 1, 1), rank_of({}, 1, 1)}));
    RecordedOp far = op(0, 0, 1, 1);
    far.slot = 9;
    EXPECT_FALSE(measured_steps(two_ranks(), {rank_of({far}, 1, 1), rank_of({}, 1, 1)}));
    EXPECT_FALSE(measured_steps(two_ranks(), {RankRecording{}, RankRecording{}}));
}

TEST(MeasuredTimeline, BestStepsAreTheUndisturbedOrTheShortest) {
    std::vector<MeasuredStep> steps;
    for (std::int64_t s = 1; s <= 10; ++s) {
        steps.push_back({.step = s,
                         .ranks = {{.end = us(100 - s), .preemptions = s % 2}},
                         .ops = {},
                         .lost = {}});
    }
    for (const MeasuredStep* step : best_steps(steps, 4)) {
        EXPECT_EQ(step->step % 2, 0);
    }
    const auto shortest = best_steps(steps, 6);
    ASSERT_EQ(shortest.size(), 5U);
    EXPECT_EQ(shortest.front()->step, 10);
    for (const MeasuredStep* step : shortest) {
        EXPECT_GT(step->step, 5);
    }
}

}  // namespace
}  // namespace orrery
