// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/hot_experts.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(HotExperts, EqualLoadsHaveNone) {
    EXPECT_FALSE(busiest_experts(Answer{}));
}

// Layer 2 is more uneven in each micro-batch, layer 1 over the step.
TEST(HotExperts, TheMostUnevenLayerAndTheBusiestRankAreNamed) {
    Answer answer;
    answer.expert_rows = {
        {.layer = 1, .busiest = RankId{3}, .most = 1.5, .mean_of_most = 1.6},
        {.layer = 2, .busiest = RankId{1}, .most = 1.2, .mean_of_most = 2, .dropped = 0.5}};
    answer.rows_of_rank = {0.5, 0.75, 0.75, 2};
    const auto hot = busiest_experts(answer);
    ASSERT_TRUE(hot);
    EXPECT_EQ(hot->layer, 2);
    EXPECT_EQ(hot->rank, RankId{1});
    EXPECT_DOUBLE_EQ(hot->over_mean, 1.2);
    EXPECT_DOUBLE_EQ(hot->worst, 2);
    EXPECT_DOUBLE_EQ(hot->mean_worst, 1.8);
    EXPECT_DOUBLE_EQ(hot->dropped, 0.25);
    EXPECT_EQ(hot->busiest, RankId{3});
    EXPECT_DOUBLE_EQ(hot->busiest_over_mean, 2);
}

}  // namespace
}  // namespace orrery
