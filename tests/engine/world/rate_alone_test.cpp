// SPDX-License-Identifier: Apache-2.0
#include "engine/world/rate_alone.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery {
namespace {

using namespace literals;

const std::vector<LinkInfo> kLinks{
    {.capacity = Bandwidth::bits_per_second(1000)}, {.capacity = 400_Gbps}, {.capacity = {}}};

TEST(RateAlone, IsTheTightestLinksShareRoundedDownOrTheCap) {
    const std::vector<LinkShare> shares{{LinkId{0}, 3}, {LinkId{1}, 1}};
    EXPECT_EQ(rate_alone(shares, {}, kLinks).bits_per_second(), 333);
    EXPECT_EQ(rate_alone(shares, Bandwidth::bits_per_second(332), kLinks).bits_per_second(), 332);
    EXPECT_EQ(rate_alone(shares, 400_Gbps, kLinks).bits_per_second(), 333);
    EXPECT_EQ(rate_alone({}, 100_Gbps, kLinks), 100_Gbps);
}

TEST(RateAlone, IsZeroOverALinkThatIsDown) {
    const std::vector<LinkShare> shares{{LinkId{1}, 1}, {LinkId{2}, 1}};
    EXPECT_EQ(rate_alone(shares, {}, kLinks), Bandwidth{});
}

TEST(TimeWithoutContention, SumsThePhasesLatenciesAndLongestParts) {
    const std::vector<LinkShare> once{{LinkId{1}, 1}};
    const std::vector<LinkShare> twice{{LinkId{1}, 2}};
    const TransferPart part{.footprint = once, .bytes = Bytes{100'000}, .rate_max = {}};
    const TransferPart longer{.footprint = twice, .bytes = Bytes{100'000}, .rate_max = {}};
    const TransferPlan plan{
        .phases = {{.latency = 1_us, .parts = {part, longer}}, {.latency = 3_us, .parts = {part}}}};
    // 100 kB take 2 us at 400 Gb/s; the parts of a phase do not slow each other down.
    EXPECT_EQ(time_without_contention(plan, kLinks), 1_us + 4_us + 3_us + 2_us);
}

TEST(TimeWithoutContention, IsNeverWithoutBandwidthUnlessNothingMoves) {
    const std::vector<LinkShare> down{{LinkId{2}, 1}};
    TransferPart part{.footprint = down, .bytes = Bytes{1}, .rate_max = {}};
    TransferPlan plan{
        .phases = {{.latency = 1_us, .parts = {part}}, {.latency = 1_us, .parts = {}}}};
    EXPECT_EQ(time_without_contention(plan, kLinks), Time::max());
    plan.phases[0].parts[0].bytes = {};
    EXPECT_EQ(time_without_contention(plan, kLinks), 2_us);
}

}  // namespace
}  // namespace orrery
