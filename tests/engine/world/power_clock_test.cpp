// SPDX-License-Identifier: Apache-2.0
#include "engine/world/power_clock.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(PowerClock, EachIsTheOthersInverse) {
    for (const double clock : {0.2, 0.5, 0.9, 1.0}) {
        EXPECT_NEAR(clock_at_power(power_at_clock(clock)), clock, 1e-12);
    }
}

// Between proportion and the cube root.
TEST(PowerClock, HalfOfThePowerLeavesMoreThanHalfOfTheClock) {
    EXPECT_NEAR(clock_at_power(0.5), 0.66, 0.001);
    EXPECT_LT(power_at_clock(0.5), 0.5);
    EXPECT_GT(power_at_clock(0.5), 0.125);
}

}  // namespace
}  // namespace orrery
