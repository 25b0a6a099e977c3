// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/policies/checkpoint_interval.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(CheckpointInterval, IsWholeSteps) {
    CheckpointInterval rule{
        .rule = IntervalRule::exact, .stall = WallTime::seconds(20), .step = WallTime::seconds(7)};
    EXPECT_EQ(interval_of(rule, WallTime::seconds(11134.8)), WallTime::seconds(651));  // 654.111
    rule.step = WallTime{};
    EXPECT_NEAR(interval_of(rule, WallTime::seconds(11134.8)).seconds(), 654.111, 0.001);
    rule.rule = IntervalRule::young;
    EXPECT_NEAR(interval_of(rule, WallTime::seconds(11134.8)).seconds(), 667.38, 0.01);
    rule.step = WallTime::hours(2);
    EXPECT_EQ(interval_of(rule, WallTime::seconds(11134.8)), WallTime::hours(2));
}

// sqrt(2 * 3600 s * 1 ms)
TEST(CheckpointInterval, AFreeCheckpointIsNotTakenAllTheTime) {
    const CheckpointInterval rule{.rule = IntervalRule::young};
    EXPECT_NEAR(interval_of(rule, WallTime::hours(1)).seconds(), 2.683, 0.001);
}

TEST(CheckpointInterval, TheAdaptiveOneFollowsWhatHappens) {
    const CheckpointInterval rule{.rule = IntervalRule::adaptive,
                                  .stall = WallTime::seconds(20),
                                  .mtbf = WallTime::hours(100)};
    JobState state{{.slots = 1}, 1};
    const WallTime before = *rule.interval(state);
    state.trained = WallTime::hours(900);
    state.incidents = 999;  // about one an hour
    const WallTime after = *rule.interval(state);
    EXPECT_LT(after, before);
    EXPECT_NEAR(after.seconds(), 366.26, 0.01);  // the optimum at 1 h and 20 s
}

}  // namespace
}  // namespace orrery
