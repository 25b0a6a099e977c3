// SPDX-License-Identifier: Apache-2.0
// network/packet/credits.cpp.
#include <gtest/gtest.h>

#include "tests/network/packet/packet_cases.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

// uet-htsim's RCCC: the pacer grants 0.99 of the line; 8:1 x 1 MiB at 400 Gb/s ends at 179.5 us.
TEST(Credits, CreditsFillTheLineWithoutTrimmingMuch) {
    const Topology two = topology_of(leaf_spine(8, 8, 8, 400_Gbps, 1_us));
    const PacketParameters p = published_parameters(CongestionKind::credits);
    const Outcome outcome = run_flows(two, p, incast(64, 8, 1_MiB));
    EXPECT_NEAR(outcome.max(), 179.5, 0.05 * 179.5);
    // After the first window, which is sent without credit, nothing is cut.
    EXPECT_LT(outcome.totals.trimmed, 8 * 151);
    EXPECT_EQ(outcome.totals.timeouts, 0);
    EXPECT_GT(outcome.min(), 0.6 * outcome.max());  // in turn
}

// The incast's length is the receiver's pace.
TEST(Credits, HalfTheCreditsTakeTwiceAsLong) {
    const Topology two = topology_of(leaf_spine(8, 8, 8, 400_Gbps, 1_us));
    PacketParameters p = published_parameters(CongestionKind::credits);
    const double full = run_flows(two, p, incast(64, 8, 1_MiB)).max();
    p.credit_rate /= 2;
    EXPECT_NEAR(run_flows(two, p, incast(64, 8, 1_MiB)).max(), 2 * full, 0.2 * full);
}

TEST(Credits, AShortFlowNeedsNoCreditToStart) {
    const Topology pair = topology_of(leaf_spine(1, 2, 1, 100_Gbps, 1_us));
    const Outcome credits = run_flows(pair,
                                      published_parameters(CongestionKind::credits),
                                      {{.source = 0, .destination = 1, .bytes = 40'000_B}});
    const Outcome window = run_flows(pair,
                                     published_parameters(CongestionKind::nscc),
                                     {{.source = 0, .destination = 1, .bytes = 40'000_B}});
    EXPECT_NEAR(credits.max(), window.max(), 0.05);
}

// A trim can take the last packet whose wish the receiver would have read: no sender waits for a
// timer.
TEST(Credits, NoSenderIsForgotten) {
    const Topology tree = topology_of(fat_tree(8, 100_Gbps, 1_us));
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        PacketParameters p = published_parameters(CongestionKind::credits);
        p.seed = seed;
        const Outcome outcome = run_flows(tree, p, permutation(128, 2'000'000_B, seed));
        EXPECT_EQ(outcome.totals.timeouts, 0) << seed;
        EXPECT_LT(outcome.max(), 1.15 * outcome.median()) << seed;
    }
}

}  // namespace
}  // namespace orrery::packet
