// SPDX-License-Identifier: Apache-2.0
// network/packet/flow_control.cpp: PFC, and links that change.
#include <gtest/gtest.h>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

TEST(FlowControl, ALosslessNetworkNeverDrops) {
    const Topology tree = topology_of(fat_tree(8, 100_Gbps, 1_us));
    for (const PfcKind kind : {PfcKind::fixed, PfcKind::dynamic}) {
        for (const std::uint32_t bytes : {1064U, 9000U}) {
            PacketParameters p = published_parameters(CongestionKind::none);
            p.pfc.kind = kind;
            p.pfc.buffer = 2'000'000_B;  // small: it must come to pauses
            p.packet_bytes = bytes;
            const Outcome outcome = run_flows(tree, p, incast(128, 64, 400'000_B));
            EXPECT_EQ(outcome.totals.dropped, 0);
            EXPECT_EQ(outcome.totals.repeated, 0);
            EXPECT_GT(outcome.totals.pauses, 0);
            EXPECT_EQ(outcome.totals.out_of_path_order, 0);
        }
    }
}

TEST(FlowControl, NothingPausesWhenEcnActsFirstAndTheIncastFits) {
    const Topology leaf = topology_of(leaf_spine(1, 9, 1, 100_Gbps, 1_us));
    const Outcome outcome =
        run_flows(leaf, published_parameters(CongestionKind::dcqcn), incast(9, 8, 2'000'000_B));
    EXPECT_GT(outcome.totals.marked, 0);
    EXPECT_EQ(outcome.totals.pauses, 0);
}

// Two leaves, one cable: four hosts of leaf 0 overload host 4 of leaf 1, whose port pauses the
// shared cable. The victim goes over that cable to an idle host.
double victim_us(const PacketParameters& p) {
    const Topology two = topology_of(leaf_spine(2, 16, 4, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(two, p);
    const auto over = [&](std::uint32_t from, std::uint32_t to) {
        return std::vector<std::uint32_t>{two.host_port(from),
                                          two.leaf_uplink(0, 0),
                                          Topology::reverse(two.leaf_uplink(1, 0)),
                                          Topology::reverse(two.host_port(to))};
    };
    // Others of the same leaf keep host 16 busy; hosts 0 and 1 cross the cable to it.
    for (std::uint32_t i = 18; i < 32; ++i) {
        (void)simulation.add_flow({.source = i, .destination = 16, .bytes = 20'000'000_B});
    }
    (void)simulation.add_flow(
        {.source = 1, .destination = 16, .bytes = 20'000'000_B, .path = over(1, 16)});
    const auto victim = simulation.add_flow({.source = 0,
                                             .destination = 17,
                                             .bytes = 10'000'000_B,
                                             .start = 3_ms,
                                             .path = over(0, 17)});
    simulation.run();
    EXPECT_EQ(simulation.totals().dropped, 0);
    const FlowResult result = simulation.flow(victim.value());
    EXPECT_EQ(result.state, FlowState::finished);
    return (result.end - result.start).microseconds();
}

// The published failing of PFC (Zhu et al., SIGCOMM 2015, section 2.2) and why DCQCN exists.
TEST(FlowControl, AVictimSuffersFromPausesAndRecoversWithEcn) {
    PacketParameters pfc = published_parameters(CongestionKind::none);
    const double alone_us = 10'000'000.0 * 4150 / 4086 * 8 / 100'000;
    EXPECT_GT(victim_us(pfc), 5 * alone_us);  // 1/15 of host 16's line would be 15 times
    const PacketParameters dcqcn = published_parameters(CongestionKind::dcqcn);
    EXPECT_LT(victim_us(dcqcn), 1.6 * alone_us);
}

TEST(FlowControl, APausedReceiverStopsTheTreeAboveItAndNobodyElse) {
    const Topology tree = topology_of(fat_tree(4, 100_Gbps, 1_us));
    PacketParameters p = published_parameters(CongestionKind::none);
    p.retry_exponent = 20;  // no connection gives up in this test
    Simulation simulation = simulation_of(tree, p);
    simulation.set_host_paused(Time{}, 0, true);
    for (std::uint32_t i = 4; i < 8; ++i) {
        ASSERT_TRUE(simulation.add_flow({.source = i, .destination = 0, .bytes = 4'000'000_B}));
    }
    ASSERT_TRUE(simulation.add_flow({.source = 8, .destination = 12, .bytes = 4'000'000_B}));
    std::vector<std::uint32_t> ended;
    EXPECT_TRUE(simulation.run_until(10_ms, ended));  // the stranger
    EXPECT_EQ(ended, std::vector<std::uint32_t>{4});
    EXPECT_FALSE(simulation.run_until(10_ms, ended));
    for (std::uint32_t i = 4; i < 8; ++i) {  // the pause came all the way up to the senders
        EXPECT_GT(simulation.port(tree.host_port(i)).pauses, 0);
        EXPECT_GT(simulation.port(tree.host_port(i)).paused, 9_ms);
    }
    EXPECT_EQ(simulation.port(tree.host_port(8)).pauses, 0);
    const std::vector<std::string> waits = simulation.waits();
    ASSERT_EQ(waits.size(), 4U);
    EXPECT_NE(waits[0].find("is paused"), std::string::npos) << waits[0];
    simulation.set_host_paused(10_ms, 0, false);
    simulation.run();
    EXPECT_EQ(simulation.num_unfinished(), 0U);
    EXPECT_EQ(simulation.totals().dropped, 0);
}

TEST(FlowControl, HalfTheRateFromHalfTheTimeIsThreeQuartersOfTheWork) {
    const Topology pair = topology_of(leaf_spine(1, 2, 1, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(pair, published_parameters(CongestionKind::nscc));
    ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 1, .bytes = 4086'000_B}));
    // 1000 packets of 332 ns: 500 at full rate, the others at half of it.
    simulation.set_rate(Time::picoseconds(500 * 332'000), pair.host_port(0), 50_Gbps);
    simulation.run();
    const double expected = 500 * 0.332 + 500 * 0.664;
    EXPECT_NEAR(simulation.flow(0).end.microseconds(), expected, 5.0);
}

TEST(FlowControl, AFlowSurvivesADeadLinkThatComesBack) {
    const Topology pair = topology_of(leaf_spine(1, 2, 1, 100_Gbps, 1_us));
    for (const CongestionKind kind : {CongestionKind::nscc, CongestionKind::dcqcn}) {
        for (const bool at_sender : {true, false}) {
            Simulation simulation = simulation_of(pair, published_parameters(kind));
            ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 1, .bytes = 8'000'000_B}));
            const std::uint32_t port =
                at_sender ? pair.host_port(0) : Topology::reverse(pair.host_port(1));
            simulation.set_rate(100_us, port, Bandwidth{});
            simulation.set_rate(1_ms, port, 100_Gbps);
            simulation.run();
            const FlowResult flow = simulation.flow(0);
            EXPECT_EQ(flow.state, FlowState::finished);
            EXPECT_EQ(flow.bytes_received, 8'000'000);
            EXPECT_GT(flow.end, 1_ms + 500_us);
        }
    }
}

TEST(FlowControl, AFlowOverALinkThatStaysDeadGivesUpAndSaysWhy) {
    const Topology two = topology_of(leaf_spine(2, 2, 1, 100_Gbps, 1_us));
    for (const CongestionKind kind : {CongestionKind::nscc,
                                      CongestionKind::credits,
                                      CongestionKind::dcqcn,
                                      CongestionKind::swift}) {
        Simulation simulation = simulation_of(two, published_parameters(kind));
        ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 2, .bytes = 8'000'000_B}));
        ASSERT_TRUE(simulation.add_flow({.source = 1, .destination = 0, .bytes = 8'000'000_B}));
        simulation.set_rate(100_us, two.leaf_uplink(0, 0), Bandwidth{});
        simulation.run();
        EXPECT_EQ(simulation.num_unfinished(), 0U);
        EXPECT_EQ(simulation.flow(0).state, FlowState::failed);
        EXPECT_EQ(simulation.flow(1).state, FlowState::finished);
        EXPECT_GE(simulation.flow(0).timeouts, 8);  // retries_max and the last one
        ASSERT_EQ(simulation.waits().size(), 1U);
        const std::string wait = simulation.waits()[0];
        EXPECT_NE(wait.find("flow 0 (host 0 to host 2) gave up"), std::string::npos) << wait;
        EXPECT_NE(wait.find("leaf 0 -> spine 0 is dead"), std::string::npos) << wait;
    }
}

}  // namespace
}  // namespace orrery::packet
