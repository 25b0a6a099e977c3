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
}

}  // namespace
}  // namespace orrery
