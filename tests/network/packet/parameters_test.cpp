// SPDX-License-Identifier: Apache-2.0
#include "network/packet/parameters.h"

#include <gtest/gtest.h>

#include "tests/network/packet/clos_shapes.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

// uet-htsim's own numbers (uec.cpp).
TEST(PacketParameters, DerivesWhatUltraEthernetsSimulatorDerives) {
    const ClosShape tree = fat_tree(16, 100_Gbps, 1_us);
    EXPECT_EQ(base_rtt_of(tree, 4150, 64).picoseconds(), 14'022'720);
    const PacketParameters p = derived({}, tree).value();
    EXPECT_EQ(p.queue.count(), 43 * 4150);
    EXPECT_EQ(p.ecn.kmin.count(), 9 * 4150);
    EXPECT_EQ(p.ecn.kmax.count(), 35 * 4150);
    const ClosShape two_tiers = leaf_spine(32, 32, 32, 100_Gbps, 1_us);
    const PacketParameters q = derived({}, two_tiers).value();
    EXPECT_EQ(q.queue.count(), 29 * 4150);
    EXPECT_EQ(q.ecn.kmin.count(), 6 * 4150);
    EXPECT_EQ(q.ecn.kmax.count(), 24 * 4150);
    EXPECT_EQ(base_rtt_of(leaf_spine(128, 64, 64, 400_Gbps, 1_us), 4150, 64).picoseconds(),
              8'337'120);
}

// HPCC's simulator: thresholds and buffers scale with the NIC (run.py).
TEST(PacketParameters, ScalesRoceSwitchesWithTheNic) {
    const ClosShape shape = leaf_spine(2, 4, 2, 100_Gbps, 1_us);
    const PacketParameters dcqcn =
        derived(published_parameters(CongestionKind::dcqcn), shape).value();
    EXPECT_EQ(dcqcn.ecn.kmin.count(), 400'000);
    EXPECT_EQ(dcqcn.ecn.kmax.count(), 1'600'000);
    EXPECT_DOUBLE_EQ(dcqcn.ecn.pmax, 0.2);
    EXPECT_EQ(dcqcn.pfc.buffer.count(), 32 << 20);
    EXPECT_FALSE(dcqcn.trimming);
    const PacketParameters dctcp =
        derived(published_parameters(CongestionKind::dctcp), shape).value();
    EXPECT_EQ(dctcp.ecn.kmin.count(), 300'000);
    EXPECT_EQ(dctcp.ecn.kmax.count(), 300'000);
}

TEST(PacketParameters, RefusesWhatCannotBe) {
    const ClosShape shape = leaf_spine(2, 4, 2, 100_Gbps, 1_us);
    EXPECT_FALSE(derived({.packet_bytes = 64}, shape));
    EXPECT_FALSE(derived({.packet_bytes = 70'000}, shape));
    EXPECT_FALSE(derived({.num_paths = 48}, shape));
    EXPECT_FALSE(derived({.recovery = RecoveryKind::go_back_n}, shape));  // sprays
    EXPECT_FALSE(derived({.base_rtt = Time::seconds(2)}, shape));
    EXPECT_FALSE(derived({.window = Bytes{-1}}, shape));
    PacketParameters p;
    p.ecn.kmin = 2_B;
    p.ecn.kmax = 1_B;
    EXPECT_FALSE(derived(p, shape));
}

}  // namespace
}  // namespace orrery::packet
