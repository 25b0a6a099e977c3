// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/hpcc.h"

#include <gtest/gtest.h>

#include "tests/network/packet/long_flows.h"

namespace orrery {
namespace hpcc_test {

using namespace literals;

const PathInfo kPath{
    .line_rate = 100_Gbps, .base_rtt = 10_us, .packet_bytes = 1064, .header_bytes = 64};

// One hop that sends `rate` of its 100 Gb/s and keeps `queue` bytes waiting.
void feed(Hpcc& hpcc, std::uint32_t packets, double rate, std::uint32_t queue) {
    for (std::uint32_t i = 0; i < packets; ++i) {
        const std::int64_t time = 1'000'000 * (i + 1);
        const TelemetryStamp stamp{.time = time,
                                   .sent = static_cast<std::int64_t>(rate / 8 * 1e-6 * (i + 1)),
                                   .rate = 100'000'000'000,
                                   .queue = queue,
                                   .port = 7};
        hpcc.on_ack(
            {.now = Time::picoseconds(time), .sent = i + 10, .answered = i, .stamps = {&stamp, 1}});
    }
}

TEST(Hpcc, SettlesWhereTheFullestLinkIsAtEta) {
    const HpccParameters parameters;
    Hpcc hpcc(parameters, kPath);
    feed(hpcc, 200, 80e9, 0);
    EXPECT_NEAR(hpcc.utilisation(), 0.8, 1e-3);
    EXPECT_EQ(hpcc.rate(), 100'000'000'000);  // below eta: up to the line
    Hpcc full(parameters, kPath);
    feed(full, 60, 100e9, 125'000);  // full, and one BDP waits: utilisation 2
    EXPECT_NEAR(full.utilisation(), 2.0, 0.01);
    EXPECT_LT(full.rate(), 10'000'000'000);
    EXPECT_EQ(full.window(), full.rate() * 125'000 / 100'000'000'000 + 1063);
}

// The publication's rule for W_AI: BDP (1 - eta) / N.
TEST(Hpcc, LongFlowsShareFairlyWithNextToNoQueue) {
    for (const std::uint32_t n : {4U, 16U}) {
        auto p = packet::published_parameters(packet::CongestionKind::hpcc);
        p.packet_bytes = 1064;
        p.hpcc.increase_per_line = 0.05 / n;
        const auto sharing = testing::share_bottleneck(p, n, 100_Gbps, 2_ms, 5_ms, 10_us);
        EXPECT_GT(sharing.jain, 0.99) << n;
        EXPECT_GT(sharing.utilisation, 0.93) << n;
        EXPECT_LT(sharing.queue, 0.05 * 125'000) << n;
        EXPECT_EQ(sharing.totals.pauses, 0);
    }
}

// With room for a hundred flows in W_AI few share it less evenly, but they do: what a packet says
// of a queue is what stands behind it when it is emitted, not when it has left. (That is what made
// slow flows take the link for full: four flows drifted to an index of 0.37 in 20 ms.)
TEST(Hpcc, FewFlowsShareByTheDefaultsToo) {
    const auto rtt = packet::base_rtt_of(
        testing::leaf_spine(2, 4, 1, 100_Gbps, Time::picoseconds(1'000'000)), 1064, 64);
    const HpccParameters defaults;
    const double bytes = defaults.increase_per_line * 100e9 / 8 * rtt.seconds();
    EXPECT_GT(bytes, 40);  // 80 B at the publication's 13 us
    EXPECT_LT(bytes, 100);
    for (const std::uint32_t n : {2U, 4U, 64U}) {
        auto p = packet::published_parameters(packet::CongestionKind::hpcc);
        p.packet_bytes = 1064;
        const auto sharing = testing::share_bottleneck(p, n, 100_Gbps, 10_ms, 14_ms, 10_us);
        EXPECT_GT(sharing.jain, 0.97) << n;
        EXPECT_GT(sharing.utilisation, 0.94) << n;
    }
}

}  // namespace hpcc_test
}  // namespace orrery
