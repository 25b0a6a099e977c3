// SPDX-License-Identifier: Apache-2.0
// network/packet/receiver.cpp: ACKs, notifications and credits.
#include <gtest/gtest.h>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

TEST(Receiver, AcknowledgesEverySixteenKibibytesAndTheEnds) {
    const Topology pair = topology_of(leaf_spine(1, 2, 1, 100_Gbps, 1_us));
    Simulation simulation = simulation_of(pair, published_parameters(CongestionKind::nscc));
    ASSERT_TRUE(simulation.add_flow({.source = 0, .destination = 1, .bytes = Bytes{4086 * 400}}));
    simulation.run();
    // The first packet at once, then every fourth (4 x 4,150 B >= 16 KiB), and the last.
    EXPECT_EQ(simulation.totals().acks, 1 + (400 - 1) / 4 + 1);
    EXPECT_EQ(simulation.flow(0).bytes_received, 4086 * 400);
    EXPECT_LT(simulation.flow(0).delivered, simulation.flow(0).end);
}

TEST(Receiver, RoceAcknowledgesEachPacket) {
    const Topology pair = topology_of(leaf_spine(1, 2, 1, 100_Gbps, 1_us));
    const Outcome outcome =
        run_flows(pair,
                  published_parameters(CongestionKind::dcqcn),
                  {{.source = 0, .destination = 1, .bytes = Bytes{4086 * 400}}});
    EXPECT_EQ(outcome.totals.acks, 400);
}

// network.md 6.6: the pacer grants 0.99 of the line; 8:1 x 1 MiB at 400 Gb/s ends at 179.5 us.
TEST(Receiver, CreditsFillTheLineWithoutTrimmingMuch) {
    const Topology two = topology_of(leaf_spine(8, 8, 8, 400_Gbps, 1_us));
    const PacketParameters p = published_parameters(CongestionKind::credits);
    const Outcome outcome = run_flows(two, p, incast(64, 8, 1_MiB));
    EXPECT_NEAR(outcome.max(), 179.5, 0.05 * 179.5);
    // After the first window, which is sent without credit, nothing is cut.
    EXPECT_LT(outcome.totals.trimmed, 8 * 151);
    EXPECT_EQ(outcome.totals.timeouts, 0);
    EXPECT_GT(outcome.min(), 0.6 * outcome.max());  // in turn
}

TEST(Receiver, AShortFlowNeedsNoCreditToStart) {
    const Topology pair = topology_of(leaf_spine(1, 2, 1, 100_Gbps, 1_us));
    const Outcome credits = run_flows(pair,
                                      published_parameters(CongestionKind::credits),
                                      {{.source = 0, .destination = 1, .bytes = 40'000_B}});
    const Outcome window = run_flows(pair,
                                     published_parameters(CongestionKind::nscc),
                                     {{.source = 0, .destination = 1, .bytes = 40'000_B}});
    EXPECT_NEAR(credits.max(), window.max(), 0.05);
}

}  // namespace
}  // namespace orrery::packet
