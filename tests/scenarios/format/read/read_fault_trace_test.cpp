// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_fault_trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "engine/campaign/campaign.h"

namespace orrery {
namespace {

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

constexpr std::int64_t kLength_s = 100'000;

// 300 faults on the first 40 nodes of 100 in whole seconds, many of them open at the same time on
// one node, as in traces of real clusters. Some outlast the trace.
std::vector<FaultEvent> made_up_faults() {
    std::mt19937 random(5);
    std::vector<FaultEvent> faults;
    double from = 0;
    for (int i = 0; i < 300; ++i) {
        from += static_cast<double>(random() % 600);
        const auto length = static_cast<double>(1 + random() % (i % 10 == 0 ? 30'000 : 900));
        faults.push_back(down(from, from + length, static_cast<std::uint32_t>(random() % 40)));
    }
    return faults;
}

class RecordedFaults : public ::testing::Test {
protected:
    RecordedFaults() : faults(made_up_faults()) {
        std::ofstream file{path};
        file << "# made up\ntime_s,node,fault,duration_s,kind\n";
        for (const FaultEvent& fault : faults) {
            file << fmt::format("{:.1f},{},gpu/lost,{:.1f},hardware\n",
                                fault.time.seconds(),
                                fault.nodes.first,
                                fault.duration.seconds());
        }
    }
    ~RecordedFaults() override { std::filesystem::remove(path); }

    std::string path = ::testing::TempDir() + "read_fault_trace_test.csv";
    std::vector<FaultEvent> faults;
};

// Against a count of the nodes that are down in every second.
TEST_F(RecordedFaults, ReplaysExactly) {
    const auto trace = read_fault_trace(path);
    ASSERT_TRUE(trace) << trace.error().front().to_string();
    ASSERT_EQ(trace->events.size(), faults.size());
    EXPECT_EQ(trace->nodes, 40u);
    std::vector<std::uint32_t> downs;
    double sum = 0;
    for (std::int64_t second = 0; second < kLength_s; ++second) {
        std::set<std::uint32_t> nodes;
        for (const FaultEvent& fault : faults) {
            const double at = static_cast<double>(second) + 0.5;
            if (fault.time.seconds() < at && at < (fault.time + fault.duration).seconds()) {
                nodes.insert(fault.nodes.first);
            }
        }
        downs.push_back(static_cast<std::uint32_t>(nodes.size()));
        sum += static_cast<double>(nodes.size());
    }
    std::ranges::sort(downs);
    const DownNodes nodes =
        nodes_down(trace->events, WallTime::seconds(static_cast<double>(kLength_s)));
    EXPECT_EQ(nodes.p50, downs[kLength_s / 2]);
    EXPECT_EQ(nodes.p90, downs[kLength_s * 9 / 10]);
    EXPECT_EQ(nodes.p99, downs[kLength_s * 99 / 100]);
    EXPECT_EQ(nodes.most, downs.back());
    EXPECT_NEAR(nodes.mean, sum / static_cast<double>(kLength_s), 1e-9);
    EXPECT_GT(nodes.most, 2u);
}

// Replayed on a job of all 100 nodes: a spare takes the place of a node that falls, and a node that
// comes back is a spare.
TEST_F(RecordedFaults, KeepsAsManyNodesInRepairAsItSays) {
    const auto trace = read_fault_trace(path);
    ASSERT_TRUE(trace);
    const WallTime length = WallTime::seconds(static_cast<double>(kLength_s));
    CampaignSpec spec;
    spec.cluster.nodes = 140;
    spec.job = {.slots = 100};
    spec.horizon = length;
    spec.faults = {{.name = "trace", .kind = FaultKind::gpu_lost, .events = trace->events}};
    spec.policies = {HotSpares{}};
    const CampaignResult run = run_campaign(spec, 1);
    // Faults of nodes that are idle or out count for nothing: fewer than in the trace.
    EXPECT_LE(run.faults, 300);
    EXPECT_GT(run.faults, 30);
    EXPECT_LE(run.down_most, nodes_down(trace->events, length).most);
    EXPECT_EQ(run.use_us[static_cast<std::size_t>(NodeUse::waiting)], 0);
}

}  // namespace
}  // namespace orrery
