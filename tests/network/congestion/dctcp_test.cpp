// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/dctcp.h"

#include <gtest/gtest.h>

#include "tests/network/packet/long_flows.h"

namespace orrery {
namespace dctcp_test {

using namespace literals;

const PathInfo kPath{
    .line_rate = 100_Gbps, .base_rtt = 10_us, .packet_bytes = 1064, .header_bytes = 64};

TEST(Dctcp, CutsOnceAWindowByHalfOfAlpha) {
    const DctcpParameters parameters;
    Dctcp dctcp(parameters, kPath);
    dctcp.on_ack({.acknowledged = 1, .sent = 100, .marked = true});
    EXPECT_EQ(dctcp.rate(), 50'000'000'000);  // alpha is 1 at first
    dctcp.on_ack({.acknowledged = 2, .sent = 101, .marked = true});
    EXPECT_EQ(dctcp.rate(), 50'000'000'000);  // the same episode
    // Half of the window's ACKs are marked: alpha = 15/16 + 1/32.
    for (std::uint32_t i = 3; i < 100; ++i) {
        dctcp.on_ack({.acknowledged = i, .sent = 99 + i, .marked = i % 2 == 0});
    }
    dctcp.on_ack({.acknowledged = 100, .sent = 200, .marked = false});
    EXPECT_NEAR(dctcp.alpha(), 15.0 / 16 + 1.0 / 32, 1e-3);
    EXPECT_EQ(dctcp.rate(), 50'615'000'000);  // out of the episode: one step up
}

TEST(Dctcp, LongFlowsShareFairlyWithTheQueueAboutK) {
    const auto p = packet::published_parameters(packet::CongestionKind::dctcp);
    const auto sharing = testing::share_bottleneck(p, 10, 25_Gbps, 50_ms, 100_ms, 10_us);
    EXPECT_GT(sharing.jain, 0.99);
    EXPECT_GT(sharing.utilisation, 0.99);
    EXPECT_NEAR(sharing.queue, 75e3, 15e3);  // 30 KB x 25 / 10
    EXPECT_EQ(sharing.totals.pauses, 0);
}

TEST(UecDctcp, GrowsByOnePacketAWindow) {
    UecDctcp dctcp(kPath);
    const std::int64_t before = dctcp.window();
    EXPECT_EQ(before, 125'000 * 3 / 2);
    for (std::int64_t acked = 0; acked < before; acked += 1064) {
        dctcp.on_ack({.bytes = 1064});
    }
    EXPECT_NEAR(static_cast<double>(dctcp.window()), static_cast<double>(before) + 1064, 120);
    dctcp.on_ack({.bytes = 3000, .marked = true});
    EXPECT_NEAR(static_cast<double>(dctcp.window()), static_cast<double>(before) + 64, 120);
}

}  // namespace dctcp_test
}  // namespace orrery
