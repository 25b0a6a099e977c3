// SPDX-License-Identifier: Apache-2.0
// The published 400-server trace is not part of the checkout: its test runs where it lies beside.
#include "scenarios/read/read_fault_trace.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/campaign/campaign.h"

namespace orrery {
namespace {

constexpr const char* kPublished = ORRERY_SOURCE_DIR "/../shared/data/public/fault_trace.csv";

FaultEvent down(double from, double until, std::uint32_t node) {
    return {.time = WallTime::seconds(from),
            .nodes = {node, 1},
            .duration = WallTime::seconds(until - from)};
}

TEST(NodesDown, CountANodeOnceWhileAnyOfItsFaultsIsOpen) {
    const DownNodes nodes =
        nodes_down({down(0, 50, 0), down(10, 30, 0), down(40, 60, 1), down(50, 70, 0)},
                   WallTime::seconds(100));
    EXPECT_NEAR(nodes.mean, 0.7 + 0.2, 1e-12);
    EXPECT_EQ(nodes.most, 2u);
    EXPECT_EQ(nodes.p50, 1u);
}

// S5
TEST(FaultTrace, ThePublishedOneReplaysExactly) {
    if (!std::filesystem::exists(kPublished)) {
        GTEST_SKIP() << kPublished << " is not there";
    }
    const auto trace = read_fault_trace(kPublished);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->events.size(), 584u);
    EXPECT_EQ(trace->nodes, 231u);
    const DownNodes nodes = nodes_down(trace->events, WallTime::days(348.98));
    EXPECT_EQ(nodes.p50, 7u);
    EXPECT_EQ(nodes.p90, 22u);
    EXPECT_EQ(nodes.p99, 31u);
    EXPECT_EQ(nodes.p999, 33u);
    EXPECT_EQ(nodes.most, 35u);
    EXPECT_NEAR(nodes.mean, 9.2593, 5e-5);
}

// Replayed on a job of all 400 nodes, a spare for whoever falls, whoever comes back is a spare.
TEST(FaultTrace, ThePublishedOneKeepsAsManyNodesInRepairAsItSays) {
    if (!std::filesystem::exists(kPublished)) {
        GTEST_SKIP() << kPublished << " is not there";
    }
    const auto trace = read_fault_trace(kPublished);
    ASSERT_TRUE(trace);
    CampaignSpec spec;
    spec.cluster.nodes = 440;
    spec.job = {.slots = 400};
    spec.horizon = WallTime::days(348.98);
    spec.faults = {{.name = "trace", .kind = FaultKind::gpu_lost, .events = trace->events}};
    spec.policies = {HotSpares{}};
    const CampaignResult run = run_campaign(spec, 1);
    // Faults of nodes that are idle or out count for nothing: fewer than in the trace.
    EXPECT_LE(run.faults, 584);
    EXPECT_GT(run.faults, 300);
    EXPECT_LE(run.down_most, 35u);
    EXPECT_EQ(run.use_us[static_cast<std::size_t>(NodeUse::waiting)], 0);
}

}  // namespace
}  // namespace orrery
