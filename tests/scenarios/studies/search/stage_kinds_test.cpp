// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/stage_kinds.h"

#include <gtest/gtest.h>

#include "scenarios/studies/search/cluster_costs.h"
#include "scenarios/studies/search/plan_bound.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/mixed_scenarios.h"

namespace orrery {
namespace {

TEST(StageKinds, FollowTheRankOrder) {
    Scenario scenario = mixed_scenario();
    StageKinds kinds{scenario.cluster};
    EXPECT_TRUE(kinds.several());
    EXPECT_EQ(kinds.of(scenario.plan), (std::vector<KindsOfStage>{{0}, {1}}));
    scenario.plan.rank_order = RankOrder::tp_cp_pp_dp;
    EXPECT_EQ(kinds.of(scenario.plan), (std::vector<KindsOfStage>{{0, 1}, {0, 1}}));
    scenario.plan.pipeline_model_parallel_size = 1;
    scenario.plan.data_parallel_size = 8;
    EXPECT_EQ(kinds.of(scenario.plan), (std::vector<KindsOfStage>{{0, 1}}));
}

TEST(StageKinds, AClusterOfOneKindHasKind0) {
    const Scenario scenario = small_scenario("plain", {"plan.pipeline_model_parallel_size=2"});
    StageKinds kinds{scenario.cluster};
    EXPECT_FALSE(kinds.several());
    EXPECT_EQ(kinds.of(scenario.plan), (std::vector<KindsOfStage>{{0}, {0}}));
}

// No plan on two kinds of nodes is faster than its bound, and the bound says something.
TEST(StageKinds, BoundsHoldOnSeveralKinds) {
    const auto tables = CostTables::read();
    ASSERT_TRUE(tables);
    for (const char* order : {"tp-cp-dp-pp", "tp-cp-pp-dp"}) {
        for (const Scenario& scenario :
             {mixed_scenario({std::string{"plan.rank_order="} + order}),
              classes_scenario({std::string{"plan.rank_order="} + order})}) {
            const auto costs = ClusterCosts::make(
                scenario.cluster, scenario.device, tables->curves, tables->step, scenario.devices);
            ASSERT_TRUE(costs);
            std::vector<PlanBound::KernelTimes> times;
            for (std::size_t kind = 0; kind < 2; ++kind) {
                times.emplace_back([&, kind](const Program& program) {
                    return (*costs)->mean_device(program, kind);
                });
            }
            PlanBound bound{
                scenario.model, (*costs)->network(), times, StageKinds{scenario.cluster}};
            const auto answer = simulate_scenario(scenario);
            ASSERT_TRUE(answer);
            EXPECT_LE(bound.of(scenario.plan).time, answer->iteration) << order;
            EXPECT_GT(bound.of(scenario.plan).time * 8, answer->iteration) << order;
        }
    }
}

TEST(StageKinds, BalancedLayersFollowTheSpeedOfTheStages) {
    const Scenario scenario = mixed_scenario({"model.num_layers=24"});
    const auto tables = CostTables::read();
    const auto costs = ClusterCosts::make(
        scenario.cluster, scenario.device, tables->curves, tables->step, scenario.devices);
    ASSERT_TRUE(costs);
    std::vector<PlanBound::KernelTimes> times;
    for (std::size_t kind = 0; kind < 2; ++kind) {
        times.emplace_back(
            [&, kind](const Program& program) { return (*costs)->mean_device(program, kind); });
    }
    PlanBound bound{scenario.model, (*costs)->network(), times, StageKinds{scenario.cluster}};
    const std::vector<std::int64_t> layout = bound.balanced(scenario.plan);
    ASSERT_EQ(layout.size(), 2U);
    EXPECT_EQ(layout[0] + layout[1], 24);
    EXPECT_GT(layout[0], layout[1] + 2);
}

}  // namespace
}  // namespace orrery
