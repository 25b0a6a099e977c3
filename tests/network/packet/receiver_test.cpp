// SPDX-License-Identifier: Apache-2.0
// network/packet/receiver.cpp: what arrives, and ACKs.
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

}  // namespace
}  // namespace orrery::packet
