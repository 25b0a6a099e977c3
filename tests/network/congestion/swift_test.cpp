// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/swift.h"

#include <gtest/gtest.h>

#include "tests/network/packet/long_flows.h"

namespace orrery {
namespace swift_test {

using namespace literals;

const PathInfo kPath{
    .line_rate = 100_Gbps, .base_rtt = 10_us, .packet_bytes = 1064, .header_bytes = 64};

TEST(Swift, TheTargetShrinksFromItsRangeToTheBaseAsTheWindowGrows) {
    SwiftParameters parameters;
    parameters.window_start = 0.1;
    const double base = 10e6;
    EXPECT_NEAR(Swift(parameters, kPath).target_ps(0), base + 5 * base, 1);
    parameters.window_start = 100;
    EXPECT_NEAR(Swift(parameters, kPath).target_ps(0), base, 1);
    EXPECT_NEAR(Swift(parameters, kPath).target_ps(3), base * (1 + 3 / 6.55), 1);
}

TEST(Swift, GrowsByOnePacketAWindowAndShrinksOnceAnRtt) {
    const SwiftParameters parameters;
    Swift swift(parameters, kPath);
    for (int i = 0; i < 12; ++i) {
        swift.on_ack({.now = 100_us, .rtt = 10_us, .bytes = 1064});
    }
    EXPECT_NEAR(swift.window_packets(), 13, 0.05);
    const double before = swift.window_packets();
    const double target = swift.target_ps(0);
    const Time delay = Time::picoseconds(static_cast<std::int64_t>(target * 1.25));
    swift.on_ack({.now = 200_us, .rtt = delay, .bytes = 1064});
    EXPECT_NEAR(swift.window_packets(), before * (1 - 0.8 * 0.2), 1e-3);
    swift.on_ack({.now = 201_us, .rtt = delay, .bytes = 1064});
    EXPECT_NEAR(swift.window_packets(), before * (1 - 0.8 * 0.2), 1e-3);
    swift.on_ack({.now = 2_ms, .rtt = 1_ms, .bytes = 1064});
    EXPECT_NEAR(swift.window_packets(), before * 0.84 / 2, 1e-3);  // at most by half
}

TEST(Swift, LongFlowsShareFairlyAtTheTargetDelay) {
    for (const std::uint32_t n : {2U, 10U, 64U}) {
        const auto p = packet::published_parameters(packet::CongestionKind::swift);
        const auto sharing = testing::share_bottleneck(p, n, 100_Gbps, 5_ms, 10_ms, 10_us);
        EXPECT_GT(sharing.jain, 0.99) << n;
        EXPECT_GT(sharing.utilisation, 0.99) << n;
        // The queue that makes the delay the target: 1.46 base RTTs for three switches, and more
        // as windows shrink, up to 5 base RTTs.
        const double rtt_us = 9.35;
        const double queue_us = sharing.queue * 8 / 100'000;
        EXPECT_GT(queue_us, 0.3 * rtt_us) << n;
        EXPECT_LT(queue_us, 3 * rtt_us) << n;
    }
}

}  // namespace swift_test
}  // namespace orrery
