// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/policies.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Policies, EachSaysWhatItDoesNotCover) {
    const PolicyLadder ladder = make_ladder({InPlaceRestart{},
                                             HotSpares{},
                                             ElasticDataParallel{},
                                             PipelineRerouting{},
                                             PeerCheckpoint{},
                                             PreemptiveDrain{},
                                             OverEviction{},
                                             RollbackAndSkip{},
                                             ReplayCheck{},
                                             PreflightCheck{},
                                             RedundantComputation{},
                                             RailFailover{},
                                             CheckpointInterval{}});
    ASSERT_EQ(ladder.size(), std::variant_size_v<PolicySpec>);
    for (const auto& policy : ladder) {
        EXPECT_FALSE(policy->name().empty());
        EXPECT_FALSE(policy->does_not_cover().empty());
    }
}

TEST(Policies, IntervalsAreWholeSteps) {
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

TEST(Policies, TheAdaptiveIntervalFollowsWhatHappens) {
    const PolicyLadder ladder = make_ladder({CheckpointInterval{.rule = IntervalRule::adaptive,
                                                                .stall = WallTime::seconds(20),
                                                                .mtbf = WallTime::hours(100)}});
    JobState state{{.slots = 1}, 1};
    const WallTime before = *ladder[0]->interval(state);
    state.trained = WallTime::hours(900);
    state.incidents = 999;  // about one an hour
    const WallTime after = *ladder[0]->interval(state);
    EXPECT_LT(after, before);
    EXPECT_NEAR(after.seconds(), 366.26, 0.01);  // the optimum at 1 h and 20 s
}

TEST(Policies, OverEvictionTakesTheWholeDomain) {
    const PolicyLadder ladder = make_ladder(
        {OverEviction{.scope = Scope::rack, .cluster = {.nodes = 10, .nodes_per_rack = 4}}});
    const JobState state{{.slots = 9}, 10};
    std::vector<NodeNumber> nodes{9};
    ladder[0]->widen(state, nodes);
    EXPECT_EQ(nodes, (std::vector<NodeNumber>{8, 9}));
    nodes = {1, 2};
    ladder[0]->widen(state, nodes);
    EXPECT_EQ(nodes, (std::vector<NodeNumber>{0, 1, 2, 3}));
}

TEST(Policies, ElasticityNeedsAnotherUnit) {
    const PolicyLadder ladder = make_ladder({ElasticDataParallel{}});
    JobState state{{.slots = 4, .units = 2, .stages = 2}, 4};
    state.vacate(0);
    EXPECT_EQ(ladder[0]->fill(state, 0)->kind, ActionKind::drop);
    state.slots[0].vacancy = Vacancy::dropped;
    state.vacate(1);  // of the same unit
    EXPECT_TRUE(ladder[0]->fill(state, 1).has_value());
    state.vacate(2);
    EXPECT_FALSE(ladder[0]->fill(state, 2).has_value());
}

}  // namespace
}  // namespace orrery
