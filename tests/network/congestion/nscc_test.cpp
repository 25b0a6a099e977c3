// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/nscc.h"

#include <gtest/gtest.h>

#include "tests/network/packet/long_flows.h"

namespace orrery {
namespace nscc_test {

using namespace literals;

const PathInfo kPath{.line_rate = 100_Gbps,
                     .base_rtt = 12_us,
                     .packet_bytes = 4150,
                     .header_bytes = 64,
                     .trimming = true};

TEST(Nscc, StartsWithOneAndAHalfBdp) {
    const NsccParameters parameters;
    const Nscc nscc(parameters, kPath);
    EXPECT_EQ(nscc.window(), 225'000);
    EXPECT_EQ(nscc.target_delay(), 9_us);
}

// uet-htsim's uec.cpp on its reference path (a = 1): four cases, each in the middle of a run.
class NsccCases : public ::testing::Test {
protected:
    NsccCases() : nscc_(parameters_, kPath) {
        nscc_.on_timeout(Time{}, 125'000);  // room to grow: 100,000
        nscc_.on_ack({.now = 1_us, .rtt = 16_us});
        window_ = nscc_.window();
    }
    // 40,000 B acknowledged at one delay, more than the 8 packets that an adjustment waits for.
    double change(Time delay, bool marked) {
        nscc_.on_ack({.now = 2_us, .rtt = 12_us + delay, .bytes = 40'000, .marked = marked});
        return static_cast<double>(nscc_.window() - window_);
    }
    const NsccParameters parameters_;
    Nscc nscc_;
    std::int64_t window_ = 0;
};

TEST_F(NsccCases, UnmarkedBelowTargetGrowsInProportion) {
    // alpha x acked x (target - delay) / window, alpha = 4 MSS a b / target, b = 9/12.
    const double alpha = 4 * 4086 * 0.75 / 9e6;
    EXPECT_NEAR(change(5_us, false), alpha * 40'000 * 4e6 / static_cast<double>(window_), 2);
}

TEST_F(NsccCases, UnmarkedAboveTargetGrowsFairly) {
    EXPECT_NEAR(change(20_us, false), 5.0 * 4086 * 40'000 / static_cast<double>(window_), 2);
}

TEST_F(NsccCases, MarkedBelowTargetOnlyChangesThePath) {
    EXPECT_EQ(change(5_us, true), 0);
}

TEST_F(NsccCases, MarkedAboveTargetShrinksWhenTheAverageIsAboveTargetToo) {
    EXPECT_EQ(change(20_us, true), 0);  // the average is slow: gain 0.0125
    for (int i = 0; i < 100; ++i) {
        nscc_.on_ack({.now = 3_us, .rtt = 42_us, .bytes = 0, .marked = true});
    }
    window_ = nscc_.window();
    const double average = nscc_.average_delay().microseconds();
    EXPECT_GT(average, 9);
    nscc_.on_ack({.now = 20_us, .rtt = 42_us, .bytes = 0, .marked = true});
    EXPECT_LT(nscc_.window(), window_);
    EXPECT_GE(nscc_.window(), window_ / 2);
}

TEST(Nscc, ATrimTakesItsSizeAndAfterABadPeriodWhatGotThrough) {
    const NsccParameters parameters;
    Nscc nscc(parameters, kPath);
    nscc.on_ack({.now = 1_us, .rtt = 12_us, .bytes = 4150});
    const std::int64_t before = nscc.window();
    nscc.on_nack({.now = 2_us, .rtt = 14_us, .bytes = 4150, .in_flight = 200'000});
    EXPECT_EQ(nscc.window(), before - 4150);
    // After base RTT + target with a trim, less than an eighth of the window through: 8,300 B.
    nscc.on_ack({.now = 3_us, .rtt = 30_us, .bytes = 8300, .marked = true});
    nscc.on_nack({.now = 40_us, .rtt = 40_us, .bytes = 4150, .in_flight = 200'000});
    EXPECT_EQ(nscc.window(), 8300);
}

TEST(Nscc, LongFlowsShareFairlyBetweenTheThresholds) {
    for (const std::uint32_t n : {2U, 10U}) {
        const auto p = packet::published_parameters(packet::CongestionKind::nscc);
        const auto sharing = testing::share_bottleneck(p, n, 25_Gbps, 50_ms, 150_ms, 10_us);
        EXPECT_GT(sharing.jain, 0.99) << n;
        EXPECT_GT(sharing.utilisation, 0.99) << n;
        EXPECT_GT(sharing.queue, 12'450) << n;
        EXPECT_LT(sharing.queue, 37'350) << n;
    }
}

}  // namespace nscc_test
}  // namespace orrery
