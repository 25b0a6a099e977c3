// SPDX-License-Identifier: Apache-2.0
// network/packet/nic.cpp: which packet a host sends next.
#include <gtest/gtest.h>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

TEST(Nic, FlowsOfOneHostTakeTurns) {
    const Topology leaf = topology_of(leaf_spine(1, 5, 1, 100_Gbps, 1_us));
    std::vector<FlowSpec> flows;
    for (std::uint32_t i = 1; i <= 4; ++i) {
        flows.push_back({.source = 0, .destination = i, .bytes = 2'000'000_B});
    }
    const Outcome outcome = run_flows(leaf, published_parameters(CongestionKind::nscc), flows);
    // All end within a round or so of each other, when the line has carried them all.
    const double all_us = 4 * (2'000'000.0 + 490 * 64) * 8 / 100'000;
    EXPECT_LT(outcome.max() - outcome.min(), 5 * 0.332);
    EXPECT_NEAR(outcome.max(), all_us + 4.4, 1.0);
}

TEST(Nic, BothDirectionsShareALineWithTheirAcksOnly) {
    const Topology tree = topology_of(fat_tree(4, 100_Gbps, 1_us));
    const Outcome outcome = run_flows(tree,
                                      published_parameters(CongestionKind::nscc),
                                      {{.source = 0, .destination = 15, .bytes = 2'000'000_B},
                                       {.source = 15, .destination = 0, .bytes = 2'000'000_B}});
    EXPECT_NEAR(outcome.max(), 176.8, 0.1);  // uet-htsim's result
}

TEST(Nic, AnUnevenPaceIsKeptToThePicosecond) {
    // Swift below one packet: 0.05 packets per RTT of an otherwise empty line.
    PacketParameters p = published_parameters(CongestionKind::swift);
    p.swift.window_start = 0.05;
    p.swift.increase = 0;
    const Topology pair = topology_of(leaf_spine(1, 2, 1, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(pair, p);
    ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 1, .bytes = 40'860_B}));
    simulation.run();
    const double rtt_us = 4 + 2 * (4150 + 64) * 8e-5;
    EXPECT_NEAR(simulation.flow(0).end.microseconds(), 9 * rtt_us / 0.05 + rtt_us, 0.1);
}

}  // namespace
}  // namespace orrery::packet
