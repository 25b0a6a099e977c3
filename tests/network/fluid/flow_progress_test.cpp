// SPDX-License-Identifier: Apache-2.0
#include "network/fluid/flow_progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace orrery {
namespace {

using namespace literals;

Bandwidth bps(std::int64_t rate) {
    return Bandwidth::bits_per_second(rate);
}

TEST(FlowProgress, EndsAtTheFirstWholePicosecondWithoutWorkLeft) {
    FlowProgress progress;
    const FlowId flow = progress.add(1_B);
    progress.set_rate(5_ps, flow, bps(3));
    EXPECT_EQ(progress.next_end(), Time::picoseconds(5 + 2'666'666'666'667));
}

TEST(FlowProgress, ChangesOfRateLoseNoWork) {
    FlowProgress progress;
    const FlowId flow = progress.add(Bytes{3'000'000});
    progress.set_rate(Time{}, flow, 1_GBps);
    progress.set_rate(1_ms, flow, 4_GBps);       // 2 MB left
    progress.set_rate(1_ms + 250_us, flow, {});  // 1 MB left
    EXPECT_EQ(progress.next_end(), Time::max());
    progress.set_rate(9_ms, flow, 2_GBps);
    EXPECT_EQ(progress.next_end(), 9_ms + 500_us);
}

TEST(FlowProgress, OneUnderWayHasDoneItsWork) {
    FlowProgress progress;
    const FlowId flow = progress.add_under_way(Bytes{3'000'000}, 1_ms, 1_GBps);
    EXPECT_EQ(progress.next_end(), 4_ms);
    progress.set_rate(2_ms, flow, 1_GBps);
    EXPECT_EQ(progress.next_end(), 4_ms);
    progress.set_rate(3_ms, flow, 4_GBps);  // 1 MB left
    EXPECT_EQ(progress.next_end(), 3_ms + 250_us);
}

TEST(FlowProgress, AStopAtItsEndEndsIt) {
    FlowProgress progress;
    const FlowId flow = progress.add(Bytes{1'000'000});
    progress.set_rate(Time{}, flow, 1_GBps);
    progress.set_rate(1_ms, flow, Bandwidth{});
    EXPECT_EQ(progress.next_end(), 1_ms);
}

TEST(FlowProgress, WhatTakesLongerThanATimeHoldsNeverEnds) {
    FlowProgress progress;
    progress.set_rate(Time{}, progress.add(2_MiB), bps(1));
    EXPECT_EQ(progress.next_end(), Time::max());
}

TEST(FlowProgress, EndsComeInOrderWhateverChangedBefore) {
    std::mt19937_64 random(1);
    FlowProgress progress;
    std::vector<FlowId> flows;
    for (int i = 0; i < 500; ++i) {
        flows.push_back(progress.add(Bytes{static_cast<std::int64_t>(1 + random() % 1'000)}));
    }
    for (int i = 0; i < 5'000; ++i) {  // many ties, stops and restarts
        const auto rate = static_cast<std::int64_t>(random() % 4) * 8'000'000'000;
        progress.set_rate(Time{}, flows[random() % flows.size()], bps(rate));
    }
    for (const FlowId flow : flows) {
        progress.set_rate(Time{}, flow, 1_GBps);
    }
    std::vector<FlowId> ended;
    std::size_t num_ended = 0;
    Time last;
    while (progress.next_end() < Time::max()) {
        const Time now = progress.next_end();
        EXPECT_LT(last, now);
        progress.pop_ended(now, ended);
        EXPECT_FALSE(ended.empty());
        EXPECT_TRUE(std::is_sorted(ended.begin(), ended.end()));
        num_ended += ended.size();
        last = now;
    }
    EXPECT_EQ(num_ended, flows.size());
}

TEST(FlowProgress, ARemovedTransferLeavesItsBytesRoundedUpAndItsId) {
    FlowProgress progress;
    const FlowId first = progress.add(Bytes{1'000});
    const FlowId second = progress.add(Bytes{1'000});
    const FlowId idle = progress.add(Bytes{7});
    progress.set_rate(Time{}, first, 1_GBps);
    progress.set_rate(Time{}, second, 1_GBps);
    EXPECT_EQ(progress.remove(400_ns + 1_ps, first), Bytes{600});
    EXPECT_EQ(progress.remove(1_us, idle), Bytes{7});
    EXPECT_EQ(progress.next_end(), 1_us);
    EXPECT_EQ(progress.add(Bytes{1}), idle);
    EXPECT_EQ(progress.add(Bytes{1}), first);
}

}  // namespace
}  // namespace orrery
