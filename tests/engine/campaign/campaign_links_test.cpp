// SPDX-License-Identifier: Apache-2.0
// Adapters and links that are lost, and who goes on through another way out.
#include <gtest/gtest.h>

#include "engine/campaign/campaign.h"

namespace orrery {
namespace {

WallTime s(double seconds) {
    return WallTime::seconds(seconds);
}

CampaignSpec one_fault(FaultKind kind, std::uint32_t nodes) {
    CampaignSpec spec;
    spec.cluster.nodes = nodes;
    spec.job = {.slots = 8, .units = 4, .stages = 2};
    spec.horizon = s(50000);
    spec.faults = {{.name = "script",
                    .kind = kind,
                    .events = {{.time = s(10500), .nodes = {3, 1}, .kind = kind}}}};
    spec.checkpoint = {.interval = s(1000)};
    spec.costs = {.swap = s(10),
                  .restart_full = s(100),
                  .restart_in_place = s(20),
                  .reconfigure = s(30),
                  .load_remote = s(50),
                  .load_memory = s(5)};
    spec.repair.time = {DistributionKind::fixed, s(5000)};
    spec.speed.shrunk = {1.0, 0.75};
    return spec;
}

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
