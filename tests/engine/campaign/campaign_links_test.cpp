// SPDX-License-Identifier: Apache-2.0
// Adapters and links that are lost, and who goes on through another way out.
#include <gtest/gtest.h>

#include "tests/engine/campaign/small_campaign.h"

namespace orrery {
namespace {

// P10: an adapter less costs a moment and then the pace of half the bandwidth, until it is
// repaired; the second one of the same node stops the job.
TEST(CampaignLinks, ARailLessIsSlowerAndTwoAreALoss) {
    CampaignSpec spec = one_fault(FaultKind::nic_down, 9);
    spec.faults[0].events[0].duration = s(4000);
    spec.detection.step_outlier = WallTime{};
    const RailFailover rails{.stall = s(2), .slowdown = 1.25};
    spec.policies = {rails, HotSpares{}};
    const CampaignResult one = run_campaign(spec, 1);
    EXPECT_EQ(one.interruptions, 0);
    EXPECT_EQ(one.slowdowns, 1);
    EXPECT_EQ(one.use_us[static_cast<std::size_t>(NodeUse::stall)], s(2).microseconds());
    EXPECT_NEAR(static_cast<double>(one.work_us) * 1e-6, 50000 - 2 - 3998 * (1 - 1 / 1.25), 0.1);

    spec.faults[0].events.push_back(
        {.time = s(12500), .nodes = {3, 1}, .kind = FaultKind::nic_down, .id = 1});
    const CampaignResult both = run_campaign(spec, 1);
    EXPECT_EQ(both.interruptions, 1);
    EXPECT_EQ(both.evictions, 1);
    spec.faults[0].events[1].nodes = {4, 1};  // of another node
    EXPECT_EQ(run_campaign(spec, 1).interruptions, 0);
    spec.policies = {HotSpares{}};
    EXPECT_EQ(run_campaign(spec, 1).interruptions, 2);
}

}  // namespace
}  // namespace orrery
