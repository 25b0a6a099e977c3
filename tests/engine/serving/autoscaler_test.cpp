// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/autoscaler.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

std::int64_t wanted(const char* policy, double target, const PoolObservation& seen) {
    return make_autoscaler(policy, target)->wanted(seen);
}

TEST(Autoscaler, EachPolicyFollowsItsFigure) {
    const PoolObservation seen{.instances = 4,
                               .seconds = 10,
                               .arrivals = 70,
                               .waiting = 11,
                               .cache_use = 0.5,
                               .ended = 100,
                               .good = 95};
    EXPECT_EQ(wanted("rate", 2, seen), 4);     // 7 a second
    EXPECT_EQ(wanted("rate", 1.75, seen), 4);  // exactly
    EXPECT_EQ(wanted("rate", 1, seen), 7);
    EXPECT_EQ(wanted("queue", 2, seen), 6);
    EXPECT_EQ(wanted("queue", 11, seen), 1);
    EXPECT_EQ(wanted("cache", 0.5, seen), 4);
    EXPECT_EQ(wanted("cache", 0.8, seen), 3);
    EXPECT_EQ(wanted("objectives", 0.99, seen), 5);
    EXPECT_EQ(wanted("objectives", 0.95, seen), 4);
    EXPECT_EQ(wanted("objectives", 0.95, {.instances = 4, .ended = 9, .good = 9}), 3);
    EXPECT_EQ(make_autoscaler("none", 1), nullptr);
    EXPECT_EQ(autoscaler_names().size(), 5U);
}

}  // namespace
}  // namespace orrery
