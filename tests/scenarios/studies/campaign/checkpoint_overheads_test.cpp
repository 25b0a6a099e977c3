// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/checkpoint_overheads.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// T = 3600 e^(260/3600) (e^((600 + 20)/3600) - 1) = 727.263 s, computed apart from the program.
TEST(CheckpointOverheads, AreSharesOfTheExpectedTimeOfASegment) {
    CampaignAnswer answer;
    PlanAnswer plan{.interval = WallTime::seconds(600)};
    plan.checkpoint.stall = WallTime::seconds(20);
    plan.checkpoint.copy = WallTime::seconds(60);
    plan.costs.restart_full = WallTime::seconds(180);
    plan.costs.load_remote = WallTime::seconds(20);
    EXPECT_TRUE(checkpoint_overheads(answer, plan).empty());  // nothing fails
    answer.mtbf_h = 1;
    const auto overheads = checkpoint_overheads(answer, plan);
    ASSERT_EQ(overheads.size(), 4u);
    EXPECT_STREQ(overheads[0].rule, "plan");
    EXPECT_NEAR(overheads[0].checkpoints, 20 / 727.263, 1e-5);
    EXPECT_NEAR(overheads[0].overhead(), 1 - 600 / 727.263, 1e-5);
    for (const CheckpointOverhead& other : overheads) {
        EXPECT_GE(other.overhead(), overheads[3].overhead()) << other.rule;
    }
}

}  // namespace
}  // namespace orrery
