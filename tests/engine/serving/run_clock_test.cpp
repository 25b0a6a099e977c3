// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/run_clock.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(RunClock, SumsAndProductsStayWithinATime) {
    const Time second = Time::seconds(1);
    EXPECT_EQ(bounded_sum(second, second), Time::seconds(2));
    EXPECT_EQ(bounded_sum(Time::max(), second), Time::max());
    EXPECT_EQ(bounded_sum(Time::seconds(9e6), Time::seconds(9e6)), Time::max());
    EXPECT_EQ(bounded_product(second, 3), Time::seconds(3));
    EXPECT_EQ(bounded_product(second, 0), Time{});
    EXPECT_EQ(bounded_product(Time::seconds(9e6), 2), Time::max());
}

}  // namespace
}  // namespace orrery
