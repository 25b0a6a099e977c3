// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/flow_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery {
namespace {

using namespace literals;

TEST(FlowTimes, AreNearestRanksOfThoseThatFinished) {
    std::vector<FlowTime> flows;
    for (int i = 200; i > 0; --i) {
        flows.push_back({.time = 1_us * i, .unloaded = 2_us});
    }
    flows.push_back({.time = 9_ms, .unloaded = 2_us, .stalled = 3_us, .finished = false});
    flows[0].moved = true;
    const FlowTimes times = summarise(1_KiB, flows);
    EXPECT_EQ(times.flows, 201U);
    EXPECT_EQ(times.finished, 200U);
    EXPECT_EQ(times.min, 1_us);
    EXPECT_EQ(times.median, 100_us);
    EXPECT_EQ(times.p99, 198_us);
    EXPECT_EQ(times.max, 200_us);
    EXPECT_EQ(times.slowdown_median, 50);
    EXPECT_EQ(times.slowdown_max, 100);
    EXPECT_EQ(times.moved, 1U);
    EXPECT_EQ(times.stalled, 1U);
    EXPECT_EQ(times.stalled_max, 3_us);
}

TEST(FlowTimes, OfNothingAreNothing) {
    EXPECT_EQ(summarise(1_KiB, {}).max, Time{});
    const std::vector<FlowTime> none = {{.finished = false}};
    EXPECT_EQ(summarise(1_KiB, none).finished, 0U);
}

}  // namespace
}  // namespace orrery
