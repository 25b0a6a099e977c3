// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/policies/policies.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Policies, EachSaysWhatItDoesNotCover) {
    const PolicyLadder ladder = make_ladder({InPlaceRestart{},
                                             HotSpares{},
                                             ElasticDataParallel{},
                                             PipelineRerouting{},
                                             PeerCheckpoint{},
                                             LocalCheckpoint{},
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

TEST(Policies, FactsAreTheFirstPolicysThatKnowsThem) {
    const PolicyLadder ladder = make_ladder({InPlaceRestart{},
                                             HotSpares{.count = 3},
                                             ElasticDataParallel{.units_min = 2},
                                             PeerCheckpoint{{PeerPlacementKind::ring, 3}},
                                             PreemptiveDrain{},
                                             ReplayCheck{.share = 0.25},
                                             PreflightCheck{.finds = 0.5},
                                             RedundantComputation{.overhead = 0.125},
                                             RailFailover{.slowdown = 1.5}});
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::spares)->count, 3U);
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::least_units), 2U);
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::copies)->copies, 3U);
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::replayed_share), 0.25);
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::test)->finds, 0.5);
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::step_overhead), 0.125);
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::failover_time), WallTime::seconds(10));
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::detour)->slowdown, 1.5);
    EXPECT_FALSE(ladder[0]->drains_slow_nodes());
    EXPECT_TRUE(ladder[4]->drains_slow_nodes());
    EXPECT_TRUE(ladder[2]->misfit(1).has_value());
    EXPECT_FALSE(ladder[2]->misfit(2).has_value());
    EXPECT_FALSE(first_answer(make_ladder({HotSpares{}}), &RecoveryPolicy::copies).has_value());
}

TEST(Policies, TheScenarioFillsKnobsThatWereNotGiven) {
    const PolicySetting setting{
        .cluster = {.nodes = 12}, .redundant_overhead = 0.5, .network_share = 0.25};
    const auto completed = [&](PolicySpec policy) {
        complete(policy, setting);
        return policy;
    };
    EXPECT_EQ(std::get<OverEviction>(completed(OverEviction{})).cluster.nodes, 12U);
    EXPECT_EQ(std::get<RedundantComputation>(completed(RedundantComputation{})).overhead, 0.5);
    EXPECT_EQ(
        std::get<RedundantComputation>(completed(RedundantComputation{.overhead = 0.0})).overhead,
        0.0);
    EXPECT_EQ(std::get<RailFailover>(completed(RailFailover{.bandwidth = 0.5})).slowdown, 1.25);
    EXPECT_EQ(std::get<RailFailover>(completed(RailFailover{.slowdown = 3.0})).slowdown, 3.0);
}

TEST(Policies, ADrillLeavesNothingToChance) {
    PolicySpec policy = PreflightCheck{.finds = 0.5, .localises = 0.5, .false_positive = 0.5};
    leave_nothing_to_chance(policy);
    EXPECT_EQ(policy, (PolicySpec{PreflightCheck{.finds = 1, .localises = 1}}));
}

TEST(Policies, SparesHaveACountOrAQuantile) {
    EXPECT_TRUE(contradiction_of(HotSpares{.count = 1, .quantile = 0.9}).has_value());
    EXPECT_FALSE(contradiction_of(HotSpares{.count = 1}).has_value());
    EXPECT_FALSE(contradiction_of(ReplayCheck{}).has_value());
    EXPECT_EQ(words_of(HotSpares{}).name, "spares");
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

TEST(Policies, ANodesOwnCopyOutlivesItsProcessesOnly) {
    const PolicyLadder ladder = make_ladder({LocalCheckpoint{}});
    JobState state{{.slots = 4}, 5};
    const auto source = [&](std::int64_t durable, std::int64_t memory) {
        const Observation fault{.durable_step = durable, .memory_step = memory};
        return ladder[0]->restore(fault, state, RestartExtent::in_place);
    };
    EXPECT_EQ(source(10, 14), RestoreSource::memory);
    EXPECT_FALSE(source(14, 10).has_value());
    state.evicted = {2};
    EXPECT_FALSE(source(10, 14).has_value());
    EXPECT_EQ(first_answer(ladder, &RecoveryPolicy::copies)->copies, 1U);
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
