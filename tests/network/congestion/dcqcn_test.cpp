// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/dcqcn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/network/packet/long_flows.h"

namespace orrery {
namespace {

using namespace literals;

const PathInfo kPath{
    .line_rate = 100_Gbps, .base_rtt = 10_us, .packet_bytes = 1064, .header_bytes = 64};

void notify(Dcqcn& dcqcn, Time now) {
    dcqcn.on_ack({.now = now, .bytes = 1064, .marked = true, .notified = true});
}

// Runs the clocks up to `now`, as the engine does.
void run_clocks(Dcqcn& dcqcn, Time now) {
    while (dcqcn.next_timer() <= now) {
        dcqcn.on_timer(dcqcn.next_timer());
    }
}

TEST(Dcqcn, TheFirstNotificationStartsTheClocksAndTheFirstCutHalves) {
    const DcqcnParameters parameters;
    Dcqcn dcqcn(parameters, kPath);
    EXPECT_EQ(dcqcn.next_timer(), Time::max());
    notify(dcqcn, 100_us);
    EXPECT_EQ(dcqcn.rate(), 100'000'000'000);  // rate on first CNP x 1.0
    EXPECT_EQ(dcqcn.next_timer(), 104_us);
    run_clocks(dcqcn, 104_us);
    // alpha after four periods, a CNP in the first one: 255/256 + 1/256, then x 255/256 each.
    const double alpha = std::pow(255.0 / 256, 3);
    EXPECT_NEAR(dcqcn.alpha(), alpha, 1e-12);
    EXPECT_NEAR(static_cast<double>(dcqcn.rate()), 100e9 * (1 - alpha / 2), 2);
}

TEST(Dcqcn, RecoversHalfTheWayThenAdditivelyThenFaster) {
    const DcqcnParameters parameters;
    Dcqcn dcqcn(parameters, kPath);
    notify(dcqcn, Time{});
    run_clocks(dcqcn, 4_us);
    // Stage 0: the target stayed at the line.
    EXPECT_DOUBLE_EQ(dcqcn.target(), 100e9);
    double rate = static_cast<double>(dcqcn.rate());
    run_clocks(dcqcn, 304_us);
    EXPECT_NEAR(static_cast<double>(dcqcn.rate()), (rate + 100e9) / 2, 2);
    // A second cut, in stage 1, lowers the target to the rate.
    notify(dcqcn, 305_us);
    rate = static_cast<double>(dcqcn.rate());
    run_clocks(dcqcn, 309_us);
    EXPECT_NEAR(dcqcn.target(), rate, 2);
    const Time cut = 308_us;  // periods of 4 us from the last cut on
    run_clocks(dcqcn, cut + 300_us);
    EXPECT_NEAR(dcqcn.target(), rate, 2);  // F = 1: one step of recovery
    run_clocks(dcqcn, cut + 600_us);
    EXPECT_NEAR(dcqcn.target(), rate + 20e6, 2);  // 5 Mb/s x 100/25
    run_clocks(dcqcn, cut + 900_us);
    EXPECT_NEAR(dcqcn.target(), rate + 220e6, 2);  // 50 Mb/s x 100/25
}

TEST(Dcqcn, LongFlowsShareFairlyWithTheQueueBetweenTheThresholds) {
    for (const std::uint32_t n : {2U, 10U}) {
        const auto p = packet::published_parameters(packet::CongestionKind::dcqcn);
        const auto sharing = testing::share_bottleneck(p, n, 25_Gbps, 100_ms, 200_ms, 10_us);
        EXPECT_GT(sharing.jain, 0.99) << n;
        EXPECT_GT(sharing.utilisation, 0.95) << n;
        EXPECT_GT(sharing.queue, 100e3) << n;  // Kmin, Kmax at 25 Gb/s
        EXPECT_LT(sharing.queue, 400e3) << n;
        EXPECT_EQ(sharing.totals.dropped, 0);
    }
}

// 64 too: their queue swings around Kmax (Zhu et al., "ECN or Delay", CoNEXT 2016, section 3: DCQCN
// with many flows), but their shares are fair. What makes them so is the target rate, which the
// publication lowers at every cut (Zhu et al., SIGCOMM 2015, algorithm 1). Left where it was (as
// HPCC's simulator has it, "clamp target rate" off), it brings a flow that has seen no mark for one
// timer back to half of the line, and with 64 flows some always have: PFC governs, not DCQCN.
TEST(Dcqcn, ThePublicationsParametersShareFairlyAmongFewAndMany) {
    auto p = packet::published_parameters(packet::CongestionKind::dcqcn);
    p.dcqcn = DcqcnParameters::paper();
    for (const std::uint32_t n : {2U, 10U, 64U}) {
        const auto sharing = testing::share_bottleneck(p, n, 25_Gbps, 100_ms, 200_ms, 10_us);
        EXPECT_GT(sharing.jain, 0.99) << n;
        EXPECT_GT(sharing.utilisation, 0.9) << n;
        EXPECT_LT(sharing.queue, 600e3) << n;
    }
    p.dcqcn.clamp_target = false;
    const auto unclamped = testing::share_bottleneck(p, 64, 25_Gbps, 100_ms, 200_ms, 10_us);
    EXPECT_LT(unclamped.jain, 0.9);
    EXPECT_GT(unclamped.queue, 4e6);
}

}  // namespace
}  // namespace orrery
