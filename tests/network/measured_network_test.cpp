// SPDX-License-Identifier: Apache-2.0
#include "network/measured_network.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/engine/scripted_network.h"

namespace orrery {
namespace {

MeasuredTransfer row(TransferKind kind, std::int64_t bytes, std::uint32_t ranks, double us) {
    return {
        .kind = kind, .bytes = Bytes{bytes}, .ranks = ranks, .median = Time::seconds(us * 1e-6)};
}

double microseconds(const TransferTimes& times, std::int64_t bytes, std::uint32_t ranks) {
    return times.time(TransferKind::all_reduce, Dtype::fp32, Bytes{bytes}, ranks)->microseconds();
}

TEST(TransferTimes, AreTheMeasuredOnesAtMeasuredSizes) {
    std::mt19937 random(5);
    std::vector<MeasuredTransfer> rows;
    for (std::int64_t bytes = 4; bytes < 1 << 24; bytes *= 3) {
        for (const std::uint32_t ranks : {2u, 4u, 8u}) {
            rows.push_back(row(TransferKind::all_reduce,
                               bytes,
                               ranks,
                               1.0 + static_cast<double>(random() % 1000)));
        }
    }
    const TransferTimes times{rows};
    for (const MeasuredTransfer& r : rows) {
        EXPECT_EQ(times.time(r.kind, r.wire, r.bytes, r.ranks), r.median);
    }
}

TEST(TransferTimes, GoStraightInTheLogarithmsBetweenSizesAndInProportionBeyond) {
    const TransferTimes times{{row(TransferKind::all_reduce, 100, 2, 10),
                               row(TransferKind::all_reduce, 10'000, 2, 40),
                               row(TransferKind::all_reduce, 100, 8, 90)}};
    EXPECT_NEAR(microseconds(times, 1'000, 2), 20, 1e-6);    // half way
    EXPECT_NEAR(microseconds(times, 1, 2), 10, 1e-6);        // start-up
    EXPECT_NEAR(microseconds(times, 30'000, 2), 120, 1e-6);  // bandwidth
    EXPECT_NEAR(microseconds(times, 100, 4), 30, 1e-6);      // half way from 2 to 8 ranks
    EXPECT_NEAR(microseconds(times, 100, 64), 90, 1e-6);
}

TEST(TransferTimes, OfAnotherTypeStandInAndOfAnotherKindDoNot) {
    const TransferTimes times{{row(TransferKind::all_gather, 100, 2, 10)}};
    EXPECT_TRUE(times.time(TransferKind::all_gather, Dtype::bf16, Bytes{100}, 2));
    EXPECT_FALSE(times.time(TransferKind::all_reduce, Dtype::fp32, Bytes{100}, 2));
    EXPECT_FALSE(times.time(TransferKind::send_recv, Dtype::fp32, Bytes{100}, 2));
}

TEST(MeasuredNetwork, AsksTheOtherNetworkBetweenNodesAndForWhatWasNotMeasured) {
    ScriptedNetwork base{{1'000}};
    base.collective = plan_over({0}, Bytes{8}, Time::seconds(1e-3), 3);
    base.sends[{RankId{0}, RankId{2}}] = base.collective;
    const Time overhead = Time::seconds(1e-6);
    const MeasuredNetwork network{
        base, {0, 0, 1}, {row(TransferKind::all_reduce, 64, 2, 25)}, overhead};
    const CollectiveCall sum{
        .kind = CollectiveKind::all_reduce, .bytes = Bytes{64}, .wire = Dtype::fp32};
    const TransferPlan near = network.plan(sum, std::vector{RankId{0}, RankId{1}});
    ASSERT_EQ(near.phases.size(), 1U);
    EXPECT_EQ(near.phases[0].latency, Time::seconds(26e-6));
    EXPECT_TRUE(near.phases[0].parts.empty());
    EXPECT_EQ(near.sms, 3U);
    EXPECT_EQ(near.algorithm, "measured");

    const TransferPlan far = network.plan(sum, std::vector{RankId{0}, RankId{2}});
    EXPECT_EQ(far.phases[0].latency, Time::seconds(1e-3) + overhead);
    EXPECT_EQ(far.phases[0].parts, base.collective.phases[0].parts);
    const TransferPlan sent = network.plan(SendCall{Bytes{5}}, std::array{RankId{0}, RankId{2}});
    EXPECT_EQ(sent.phases[0].parts[0].bytes, Bytes{5});
    const CollectiveCall gather{.kind = CollectiveKind::all_gather, .bytes = Bytes{64}};
    EXPECT_FALSE(network.plan(gather, std::vector{RankId{0}, RankId{1}}).phases[0].parts.empty());
}

}  // namespace
}  // namespace orrery
