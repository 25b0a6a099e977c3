// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/fault_weather.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// 100 nodes that fail every 10 days: 10 a day, so that a variance of 3 times the mean needs a gamma
// intensity of shape 5.
TEST(FaultWeather, TheVarianceOfADayIsThatOfAGammaIntensity) {
    FaultPlan plan{
        .processes = {
            {.kind = FaultKind::node_crash,
             .at = {Scope::node, kEvery},
             .interval = {.kind = DistributionKind::exponential, .scale = WallTime::days(10)}},
            {.kind = FaultKind::node_crash, .at = {Scope::node, 0}, .once = WallTime::days(1)}}};
    const ClusterShape shape{.nodes = 100};
    EXPECT_EQ(fault_weather(plan, shape, WallTime::days(30)).burst_shape, 0);
    plan.daily_variance = 3;
    EXPECT_NEAR(fault_weather(plan, shape, WallTime::days(30)).burst_shape, 5, 1e-6);
}

}  // namespace
}  // namespace orrery
