// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/power_policy.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(PowerPolicy, PolcaCapsLowPriorityFirst) {
    const auto polca = make_power_policy("polca");
    const ClockCaps none{};
    const ClockCaps first{.low = 1275.0 / 1410, .high = 1};
    const ClockCaps second{.low = 1110.0 / 1410, .high = 1305.0 / 1410};
    EXPECT_EQ(polca->caps(0.79, none), none);
    EXPECT_EQ(polca->caps(0.81, none), first);
    EXPECT_EQ(polca->caps(0.90, none), second);
    // Down again only well below the threshold.
    EXPECT_EQ(polca->caps(0.86, second), second);
    EXPECT_EQ(polca->caps(0.83, second), first);
    EXPECT_EQ(polca->caps(0.76, first), first);
    EXPECT_EQ(polca->caps(0.74, first), none);
}

TEST(PowerPolicy, OneCapForAllGoesTowardsTheLimit) {
    const auto all = make_power_policy("all");
    EXPECT_EQ(all->caps(0.5, {}), ClockCaps{});
    const ClockCaps capped = all->caps(1.25, {});
    EXPECT_NEAR(capped.low, 0.8747, 1e-4);  // 0.8^0.6
    EXPECT_EQ(capped.low, capped.high);
    EXPECT_GT(all->caps(0.9, capped).low, capped.low);
    EXPECT_EQ(make_power_policy("none"), nullptr);
    EXPECT_EQ(power_policy_names().size(), 3U);
}

TEST(PowerPolicy, ComputationDrawsMostAndGoesDownWithTheClock) {
    const RowPower row{.idle_watts = 100, .busy_watts = 1000};
    EXPECT_DOUBLE_EQ(busy_watts(row, 1, 1), 1000);
    EXPECT_DOUBLE_EQ(busy_watts(row, 0, 1), 550);
    EXPECT_DOUBLE_EQ(busy_watts(row, 0, 0.5), 550);
    EXPECT_NEAR(busy_watts(row, 1, 0.5), 550 + 450 * 0.315, 0.1);
}

}  // namespace
}  // namespace orrery
