// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/megascale.h"

#include <gtest/gtest.h>

#include "tests/network/packet/long_flows.h"

namespace orrery {
namespace megascale_test {

using namespace literals;

const PathInfo kPath{
    .line_rate = 100_Gbps, .base_rtt = 10_us, .packet_bytes = 1064, .header_bytes = 64};

TEST(MegaScale, AMarkCutsBeforeTheDelayDoes) {
    const MegaScaleParameters parameters;
    MegaScale control(parameters, kPath);
    control.on_ack({.now = 100_us, .rtt = 11_us, .bytes = 1064, .marked = true});
    const double half = 125'000.0 / 1064 / 2;           // of the BDP that it starts with
    EXPECT_NEAR(control.window_packets(), half, 1e-9);  // alpha 1, though the delay is short
    control.on_ack({.now = 101_us, .rtt = 11_us, .bytes = 1064, .marked = true});
    EXPECT_NEAR(control.window_packets(), half, 1e-9);  // once per RTT
}

TEST(MegaScale, WithoutMarksItIsSwift) {
    const MegaScaleParameters parameters;
    MegaScale control(parameters, kPath);
    Swift swift(parameters.delay, kPath);
    for (int i = 0; i < 100; ++i) {
        const AckSample ack{.now = 1_us * i, .rtt = 9_us + 1_us * (i % 20), .bytes = 1064};
        control.on_ack(ack);
        swift.on_ack(ack);
        ASSERT_EQ(control.window(), swift.window());
    }
}

TEST(MegaScale, LongFlowsShareFairlyBelowTheMarks) {
    auto p = packet::published_parameters(packet::CongestionKind::megascale);
    for (const bool early : {false, true}) {
        if (early) {  // marks before the delay's target is reached
            p.ecn.kmin = 20'000_B;
            p.ecn.kmax = 60'000_B;
            p.ecn.pmax = 0.2;
        }
        const auto sharing = testing::share_bottleneck(p, 4, 100_Gbps, 5_ms, 10_ms, 10_us);
        EXPECT_GT(sharing.jain, 0.99) << early;
        EXPECT_GT(sharing.utilisation, 0.95) << early;
        EXPECT_LT(sharing.queue, early ? 60e3 : 400e3);
        EXPECT_EQ(sharing.totals.pauses, 0);
    }
}

}  // namespace megascale_test
}  // namespace orrery
