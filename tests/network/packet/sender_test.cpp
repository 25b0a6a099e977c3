// SPDX-License-Identifier: Apache-2.0
// network/packet/sender.cpp: losses and what a sender does about them.
#include <gtest/gtest.h>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

PacketParameters dropping(RecoveryKind recovery) {
    PacketParameters p = published_parameters(CongestionKind::swift);
    p.pfc.kind = PfcKind::off;
    p.queue = 60'000_B;
    p.recovery = recovery;
    p.retry_exponent = 5;  // 131 us
    return p;
}

TEST(Sender, RecoversFromDropsEitherWayAndSelectivelyWithFewerRepeats) {
    const Topology leaf = topology_of(leaf_spine(1, 9, 1, 100_Gbps, 1_us));
    std::int64_t repeated[2];
    for (const RecoveryKind kind : {RecoveryKind::selective, RecoveryKind::go_back_n}) {
        const Outcome outcome = run_flows(leaf, dropping(kind), incast(9, 8, 1'000'000_B));
        EXPECT_GT(outcome.totals.dropped, 0);
        EXPECT_EQ(outcome.fct_us.size(), 8U);
        for (const double fct : outcome.fct_us) {
            EXPECT_FALSE(std::isnan(fct));
        }
        EXPECT_GE(outcome.totals.repeated, outcome.totals.dropped);
        repeated[static_cast<int>(kind)] = outcome.totals.repeated;
        EXPECT_EQ(outcome.totals.data_packets, 8 * 245 + outcome.totals.repeated);
    }
    EXPECT_LT(repeated[0], repeated[1]);
}

TEST(Sender, ATimerRepeatsWhatNoAnswerTellsOf) {
    // The last packet of a flow is lost: no later one shows the gap.
    PacketParameters p = published_parameters(CongestionKind::nscc);
    p.trimming = false;
    p.retransmit_timeout = 100_us;
    const Topology pair = topology_of(leaf_spine(1, 2, 1, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(pair, p);
    ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 1, .bytes = 4086_B}));
    const std::uint32_t last = Topology::reverse(pair.host_port(1));
    simulation.set_rate(Time{}, last, Bandwidth{});
    simulation.set_rate(50_us, last, 100_Gbps);
    simulation.run();
    const FlowResult flow = simulation.flow(0);
    EXPECT_EQ(flow.timeouts, 1);
    EXPECT_EQ(flow.packets_repeated, 1);
    const double way_us = 4 + 2 * (4150 + 64) * 8e-5;
    EXPECT_NEAR(flow.end.microseconds(), 100 + way_us, 0.01);
}

TEST(Sender, SprayedPacketsThatOvertakeAreNoLoss) {
    // Two spines, one of them twice as far: every other packet comes late.
    Topology two = topology_of(leaf_spine(2, 4, 4, 100_Gbps, 1_us));
    PacketParameters p = published_parameters(CongestionKind::nscc);
    const Outcome outcome = run_flows(two, p, permutation(8, 4'000'000_B, 5));
    EXPECT_EQ(outcome.totals.repeated, outcome.totals.trimmed);
    EXPECT_EQ(outcome.totals.timeouts, 0);
}

}  // namespace
}  // namespace orrery::packet
