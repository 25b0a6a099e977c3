// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/search_report.h"
#include "tests/scenarios/report/search_answer.h"

namespace orrery {
namespace {

TEST(SearchJson, HasTheResultUnderItsPublishedKeys) {
    const SearchedPlans searched = searched_plans();
    const auto json = nlohmann::json::parse(search_json(searched.scenario, searched.result));
    EXPECT_EQ(json.at("points"), 12'345);
    EXPECT_EQ(json.at("candidates"), 345);
    EXPECT_EQ(json.at("pruned").at("memory"), 12'000);
    EXPECT_EQ(json.at("bound_gap"), 0);
    ASSERT_EQ(json.at("best").size(), 1u);
    const auto& best = json.at("best")[0];
    EXPECT_DOUBLE_EQ(best.at("iteration_s"), 1.5);
    EXPECT_DOUBLE_EQ(best.at("mfu"), 0.5);
    EXPECT_EQ(best.at("peak_memory_bytes"), 1 << 30);
    EXPECT_EQ(best.at("plan").at("schedule"), "interleaved_1f1b");
    EXPECT_EQ(best.at("plan").at("tensor_model_parallel_size"), 4);
    EXPECT_EQ(json.at("pareto").size(), 1u);
    EXPECT_EQ(json.at("objective").at("name"), "step_time");
    EXPECT_EQ(json.at("objective").at("unit"), "s");
    EXPECT_TRUE(best.at("cost").is_null());
}

TEST(SearchJson, CostsAreThoseOfTheTraining) {
    SearchedPlans searched = searched_plans();
    searched.scenario.search.objective = Objective::cost;
    searched.scenario.search.tokens = 1e12;
    searched.scenario.search.clusters[0].cluster.num_nodes = 2;
    searched.scenario.search.clusters[0].cluster.node.gpus_per_node = 8;
    FoundPlan& plan = *searched.result.clusters[0].plan;
    plan.money = 5e-7;
    plan.days = 10;
    const auto json = nlohmann::json::parse(search_json(searched.scenario, searched.result));
    EXPECT_EQ(json.at("objective").at("name"), "cost");
    const auto& cluster = json.at("clusters")[0];
    EXPECT_EQ(cluster.at("cluster"), "nodes 4");
    EXPECT_DOUBLE_EQ(cluster.at("best").at("cost"), 5e5);
    EXPECT_DOUBLE_EQ(cluster.at("best").at("gpu_hours"), 10 * 24 * 16);
    EXPECT_DOUBLE_EQ(cluster.at("behind"), 0);
}

}  // namespace
}  // namespace orrery
