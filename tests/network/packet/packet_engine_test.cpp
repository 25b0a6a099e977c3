// SPDX-License-Identifier: Apache-2.0
// network/packet/packet_engine.cpp: one run as a whole.
#include <gtest/gtest.h>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

TEST(PacketEngine, SameSeedSameResultToThePicosecond) {
    const Topology tree = topology_of(fat_tree(4, 100_Gbps, 1_us));
    PacketParameters p = published_parameters(CongestionKind::nscc);
    const Outcome first = run_flows(tree, p, permutation(16, 1'000'000_B, 3));
    const Outcome second = run_flows(tree, p, permutation(16, 1'000'000_B, 3));
    EXPECT_EQ(first.fct_us, second.fct_us);
    EXPECT_EQ(first.totals, second.totals);
    p.seed = 2;
    EXPECT_NE(run_flows(tree, p, permutation(16, 1'000'000_B, 3)).fct_us, first.fct_us);
}

TEST(PacketEngine, CountsOfPortsAddUp) {
    const Topology tree = topology_of(fat_tree(4, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(tree, published_parameters(CongestionKind::nscc));
    for (const FlowSpec& flow : permutation(16, 1'000'000_B, 3)) {
        ASSERT_TRUE(simulation.add_flow(flow));
    }
    simulation.run();
    const Totals totals = simulation.totals();
    std::int64_t sent = 0;
    std::int64_t trimmed = 0;
    std::int64_t marked = 0;
    for (std::uint32_t id = 0; id < tree.num_ports(); ++id) {
        const PortStatistics port = simulation.port(id);
        trimmed += port.trimmed;
        marked += port.marked;
        if (tree.is_host(tree.port(id).from)) {
            sent += port.packets;
        }
        EXPECT_LE(port.utilisation, 1.0 + 1e-9);
    }
    EXPECT_EQ(sent, totals.data_packets + totals.acks);
    EXPECT_EQ(trimmed, totals.trimmed);
    EXPECT_EQ(marked, totals.marked);
    std::int64_t packets = 0;
    for (std::uint32_t flow = 0; flow < 16; ++flow) {
        packets += simulation.flow(flow).packets_sent;
    }
    EXPECT_EQ(packets, totals.data_packets);
}

TEST(PacketEngine, StopsAtTheTimeLimit) {
    const Topology tree = topology_of(fat_tree(4, 100_Gbps, 1_us));
    PacketParameters p = published_parameters(CongestionKind::nscc);
    p.time_max = 50_us;
    Simulation simulation = simulation_of(tree, p);
    ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 9, .bytes = 2'000'000_B}));
    simulation.run();
    EXPECT_EQ(simulation.now(), 50_us);
    EXPECT_EQ(simulation.num_unfinished(), 1U);
    ASSERT_EQ(simulation.waits().size(), 1U);
    EXPECT_NE(simulation.waits()[0].find("waits at 50.0 us"), std::string::npos);
}

}  // namespace
}  // namespace orrery::packet
