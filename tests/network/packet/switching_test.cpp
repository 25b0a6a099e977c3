// SPDX-License-Identifier: Apache-2.0
// network/packet/switching.cpp: queues, trimming, marks, the way through the switches.
#include <gtest/gtest.h>

#include <set>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

// n packets of M bytes, the last of m, over h links of rate r and latency l take
// ((n + h - 2) M + m)/r + 2 h l + 64 h / r until the last ACK is back; one packet h m / r.
Time unloaded(std::int64_t payload, std::int64_t links, Bandwidth rate, Time latency) {
    const std::int64_t full = 4150;
    const std::int64_t n = (payload + 4085) / 4086;
    const std::int64_t last = payload - (n - 1) * 4086 + 64;
    const std::int64_t bytes = n == 1 ? links * last : (n + links - 2) * full + last;
    const std::int64_t ps_per_byte = 8'000'000'000'000 / rate.bits_per_second();
    return Time::picoseconds((bytes + links * 64) * ps_per_byte) + latency * (2 * links);
}

TEST(Switching, AnUnloadedFlowTakesExactlyTheFormulasTime) {
    for (const Bandwidth rate : {25_Gbps, 100_Gbps, 400_Gbps}) {
        const Topology tree = topology_of(fat_tree(4, rate, 1_us));
        for (const std::uint32_t destination : {1U, 2U, 15U}) {  // 2, 4, 6 links
            for (const std::int64_t bytes : {1L, 4086L, 4087L, 100'000L, 2'000'000L}) {
                const Outcome outcome =
                    run_flows(tree,
                              published_parameters(CongestionKind::none),
                              {{.source = 0, .destination = destination, .bytes = Bytes{bytes}}});
                const Time expected =
                    unloaded(bytes, tree.links_between(0, destination), rate, 1_us);
                EXPECT_DOUBLE_EQ(outcome.min(), expected.microseconds()) << destination << bytes;
                EXPECT_EQ(outcome.totals.marked + outcome.totals.trimmed, 0);
                EXPECT_EQ(outcome.totals.packets_live, 0U);
            }
        }
    }
    // uet-htsim simulates 176.20 us; same leaf, 1 MB, 400 Gb/s: 24.40 us.
    EXPECT_NEAR(unloaded(2'000'000, 6, 100_Gbps, 1_us).microseconds(), 176.20, 0.005);
    EXPECT_NEAR(unloaded(1'000'000, 2, 400_Gbps, 1_us).microseconds(), 24.40, 0.005);
}

TEST(Switching, ARateThatDividesNoPicosecondIsRoundedUp) {
    const Topology pair =
        topology_of(leaf_spine(1, 2, 1, Bandwidth::bits_per_second(3'000'000'007), 1_us));
    const Outcome outcome = run_flows(pair,
                                      published_parameters(CongestionKind::none),
                                      {{.source = 0, .destination = 1, .bytes = 4086_B}});
    const double serialised = (4150.0 + 64.0) * 8 / 3000.000007;
    EXPECT_NEAR(outcome.min(), 2 * serialised + 4, 5e-6);
    EXPECT_GE(outcome.min(), 2 * serialised + 4);
}

TEST(Switching, AFullQueueTrimsAndLosesNothing) {
    const Topology leaf = topology_of(leaf_spine(1, 9, 1, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(leaf, published_parameters(CongestionKind::nscc));
    for (std::uint32_t i = 1; i <= 8; ++i) {
        ASSERT_TRUE(simulation.add_flow({.source = i, .destination = 0, .bytes = 500'000_B}));
    }
    simulation.run();
    const Totals totals = simulation.totals();
    EXPECT_GT(totals.trimmed, 100);
    EXPECT_EQ(totals.dropped, 0);
    EXPECT_EQ(totals.timeouts, 0);
    EXPECT_EQ(totals.repeated, totals.trimmed);  // every cut packet is sent once more, no other
    for (std::uint32_t i = 0; i < 8; ++i) {
        EXPECT_EQ(simulation.flow(i).bytes_received, 500'000);
    }
    const PortStatistics port = simulation.port(Topology::reverse(leaf.host_port(0)));
    EXPECT_EQ(port.trimmed, totals.trimmed);
    EXPECT_LE(port.queue_max, simulation.parameters().queue.count());
    EXPECT_GT(port.utilisation, 0.95);
    EXPECT_GT(port.queue_mean, 0);
    EXPECT_LT(port.queue_mean, static_cast<double>(port.queue_max));
}

TEST(Switching, MarksOnlyWhatLeavesALongQueueBehind) {
    PacketParameters p = published_parameters(CongestionKind::none);
    p.pfc.kind = PfcKind::off;
    p.queue = 10'000'000_B;
    p.recovery = RecoveryKind::selective;
    p.ecn = {.on = true, .kmin = 41'500_B, .kmax = 41'500_B, .pmax = 1};
    const Topology leaf = topology_of(leaf_spine(1, 3, 1, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(leaf, p);
    for (std::uint32_t i = 1; i <= 2; ++i) {
        ASSERT_TRUE(simulation.add_flow({.source = i, .destination = 0, .bytes = 408'600_B}));
    }
    simulation.run();
    // Two hosts send 100 packets each at line rate: after k departures k + 1 or k + 2 wait, then
    // the queue falls again. Marked: packets that leave more than ten behind.
    const std::int64_t marked = simulation.port(Topology::reverse(leaf.host_port(0))).marked;
    EXPECT_NEAR(static_cast<double>(marked), 200 - 2 * 10, 2);
}

TEST(Switching, SpreadsEntropiesOverAllUplinksAndKeepsAFlowOnOne) {
    const Topology two = topology_of(leaf_spine(2, 8, 8, 100_Gbps, 1_us));
    for (const bool spray : {true, false}) {
        PacketParameters p = published_parameters(CongestionKind::nscc);
        p.spray = spray ? SprayKind::oblivious : SprayKind::single;
        Simulation simulation = simulation_of(two, p);
        ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 8, .bytes = 4'000'000_B}));
        simulation.run();
        std::uint32_t used = 0;
        for (std::uint32_t port = 0; port < 8; ++port) {
            used += simulation.port(two.leaf_uplink(0, port)).packets > 0 ? 1U : 0U;
        }
        EXPECT_EQ(used, spray ? 8U : 1U);
    }
}

// E[max], by Monte Carlo, of n flows hashed on m links, within 2 % over 4,000 sets of labels.
TEST(Switching, HashesLikeAFairDie) {
    const Topology two = topology_of(leaf_spine(2, 32, 32, 100_Gbps, 1_us));
    double sum = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<int> load(32, 0);
        for (std::uint32_t flow = 0; flow < 32; ++flow) {
            const auto hash = static_cast<std::uint32_t>(
                mix64(mix64(static_cast<std::uint64_t>(trial)) + flow) >> 32);
            const std::uint32_t port = two.next_port(64, 32 + flow, hash);
            ++load[(port - two.leaf_uplink(0, 0)) / 2];
        }
        sum += *std::max_element(load.begin(), load.end());
    }
    EXPECT_NEAR(sum / kTrials, 3.54, 0.02 * 3.54);
}

TEST(Switching, AGivenPathIsTakenThereAndBack) {
    const Topology two = topology_of(leaf_spine(2, 2, 4, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(two, published_parameters(CongestionKind::nscc));
    const std::vector<std::uint32_t> path = {two.host_port(0),
                                             two.leaf_uplink(0, 2),
                                             Topology::reverse(two.leaf_uplink(1, 2)),
                                             Topology::reverse(two.host_port(3))};
    ASSERT_TRUE(
        simulation.add_flow({.source = 0, .destination = 3, .bytes = 1'000'000_B, .path = path}));
    simulation.run();
    std::set<std::uint32_t> used;
    for (std::uint32_t port = 0; port < two.num_ports(); ++port) {
        if (simulation.port(port).packets > 0) {
            used.insert(port);
        }
    }
    std::set<std::uint32_t> expected;
    for (const std::uint32_t port : path) {
        expected.insert({port, Topology::reverse(port)});
    }
    EXPECT_EQ(used, expected);
}

TEST(Switching, SwitchesThatKnowOfADeadLinkGoAroundIt) {
    const Topology two = topology_of(leaf_spine(2, 4, 4, 100_Gbps, 1_us));
    PacketParameters p = published_parameters(CongestionKind::nscc);
    p.reroute_after = 20_us;
    Simulation simulation = simulation_of(two, p);
    for (std::uint32_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(simulation.add_flow({.source = i, .destination = 4 + i, .bytes = 4'000'000_B}));
    }
    // Dead from one spine down to the receivers' leaf: the senders' leaf must shun that spine.
    simulation.set_rate(50_us, Topology::reverse(two.leaf_uplink(1, 1)), Bandwidth{});
    simulation.run();
    EXPECT_EQ(simulation.num_unfinished(), 0U);
    EXPECT_GT(simulation.totals().lost, 0);
    const std::int64_t through = simulation.port(two.leaf_uplink(0, 1)).packets;
    const std::int64_t beside = simulation.port(two.leaf_uplink(0, 2)).packets;
    EXPECT_LT(through, beside / 2);
}

}  // namespace
}  // namespace orrery::packet
