// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/flow_study.h"

#include <gtest/gtest.h>

#include "network/fluid/fluid.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

TEST(FlowStudy, QueuePairsShareTheBytesEvenly) {
    std::int64_t sum = 0;
    for (std::uint32_t q = 0; q < 7; ++q) {
        const std::int64_t share = share_of_queue_pair(Bytes(1'000), q, 7).count();
        EXPECT_NEAR(static_cast<double>(share), 1'000.0 / 7, 1);
        sum += share;
    }
    EXPECT_EQ(sum, 1'000);
}

// One flow alone has no slowdown, whatever its queue pairs do.
TEST(FlowStudy, AFlowAloneTakesItsUnloadedTime) {
    for (const std::uint32_t queue_pairs : {1U, 3U}) {
        Scenario scenario = leaf_spine_scenario(4);
        scenario.cluster.fabric.qps_per_connection = queue_pairs;
        const Fabric fabric = fabric_of(scenario);
        const RankPair pair{RankId{0}, RankId{6}};
        FlowStudy study(fabric, {pair});
        FluidRates rates(fabric.links());
        FlowRunner runner(fabric.links(), rates, {});
        const auto ends = study.run(runner, Bytes(9'000'000));
        EXPECT_EQ(ends.size(), queue_pairs);
        EXPECT_NEAR(study.times(Bytes(9'000'000), ends).slowdown_max, 1, 1e-8);
        // Four links of 1 us, 9 MB at 10 GB/s.
        EXPECT_EQ(study.unloaded(pair, Bytes(9'000'000)), 904_us);
    }
}

TEST(FlowStudy, ATrackAMessageShowsRatesAndStalls) {
    const Fabric fabric = fabric_of(leaf_spine_scenario(4));
    FlowStudy study(fabric, traffic(TrafficPattern::incast, 3, 1, 0));
    FluidRates rates(fabric.links());
    const LinkId last = *fabric.find_link("leaf 0 -> node 0 nic 0");
    FlowRunner runner(fabric.links(),
                      rates,
                      {.changes = {{.at = 100_us, .link = last},
                                   {.at = 300_us, .link = last, .capacity = 80_Gbps}},
                       .keep_spans = true});
    const auto ends = study.run(runner, Bytes(1'000'000));
    NetworkTrace trace;
    study.draw(runner, ends, trace);
    ASSERT_EQ(trace.tracks.size(), 2U);
    EXPECT_EQ(trace.tracks[0].name, "rank 1 -> rank 0");
    ASSERT_EQ(trace.tracks[0].slices.size(), 3U);
    EXPECT_EQ(trace.tracks[0].slices[0].name, "5 GB/s");
    EXPECT_EQ(trace.tracks[0].slices[1].name, "stalled");
    EXPECT_EQ(trace.tracks[0].slices[1].end, 300_us);
    EXPECT_EQ(study.times(Bytes(1'000'000), ends).stalled_max, 200_us);
}

}  // namespace
}  // namespace orrery
