// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/search_pools.h"

#include <gtest/gtest.h>

#include "scenarios/studies/serve/highest_rate.h"
#include "tests/scenarios/served_text.h"

namespace orrery {
namespace {

constexpr const char* kObjectives = "objectives: {ttft: 200 ms, tpot: 15 ms}";
constexpr const char* kLoad =
    "{num_requests: 300, request_rate: 20, input_tokens: 1000, output_tokens: 60}";

Scenario load_with(const std::string& serving = kObjectives, const std::string& workload = kLoad) {
    auto scenario = read_served_text("{" + serving + "}", workload);
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    return std::move(*scenario);
}

Result<PoolSearchResult> search(const Scenario& scenario, std::uint32_t jobs = 1) {
    return search_pools(scenario, *requests_of(scenario.workload), jobs, [](double) {});
}

// Every instance that fits, tried one by one.
TEST(SearchPools, TheBestIsTheBestOfAll) {
    Scenario scenario = load_with();
    scenario.pool_search.tensor_model_parallel_size = {2, 4};
    scenario.pool_search.keep = 1;
    const auto found = search(scenario);
    ASSERT_TRUE(found) << found.error().to_string();
    const auto requests = *requests_of(scenario.workload);
    double best = 0;
    std::int64_t tried = 0;
    const auto serve = [&](std::vector<ServingPoolSpec> pools) {
        ServingSpec spec = scenario.serving;
        spec.pools = std::move(pools);
        const auto highest =
            find_highest_rate(scenario, spec, requests, scenario.serving.objectives);
        best = std::max(best, highest ? highest->rate : 0);
        ++tried;
    };
    const auto pool = [&](PoolRole role, std::int64_t instances, std::int64_t tensor) {
        ServingPoolSpec one = scenario.serving.pools.front();
        one.role = role;
        one.instances = instances;
        one.plan.tensor_model_parallel_size = tensor;
        return one;
    };
    for (const std::int64_t tensor : {2, 4}) {
        serve({pool(PoolRole::aggregated, 8 / tensor, tensor)});
        for (const std::int64_t other : {2, 4}) {
            for (std::int64_t count = 1; count * tensor + other <= 8; ++count) {
                serve({pool(PoolRole::prefill, count, tensor),
                       pool(PoolRole::decode, (8 - count * tensor) / other, other)});
            }
        }
    }
    EXPECT_EQ(found->tried, tried);
    EXPECT_EQ(found->unfit + found->worse + 1, tried);
    EXPECT_NEAR(found->best.front().rate, best, 0.03 * best);
    EXPECT_LE(found->best.front().gpus, 8);
}

TEST(SearchPools, TheAnswerDoesNotDependOnTheThreads) {
    Scenario scenario = load_with();
    scenario.pool_search.keep = 4;
    const auto one = search(scenario, 1);
    const auto three = search(scenario, 3);
    ASSERT_TRUE(one && three);
    EXPECT_EQ(one->tried, three->tried);
    ASSERT_EQ(one->best.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(one->best[i].rate, three->best[i].rate);
        if (i > 0) {
            EXPECT_LE(one->best[i].rate, one->best[i - 1].rate);
        }
    }
}

TEST(SearchPools, CostAndEnergyHaveTheirUnits) {
    Scenario scenario = load_with(std::string{kObjectives} +
                                  ", price_per_gpu_hour: 3, busy_watts: 1000, idle_watts: 200");
    scenario.pool_search.arrangements = {PoolArrangement::aggregated};
    scenario.pool_search.objective = PoolObjective::cost;
    const auto found = search(scenario);
    ASSERT_TRUE(found);
    for (const FoundPools& pools : found->best) {
        const ServingAnswer& answer = pools.answer;
        EXPECT_NEAR(answer.cost_per_million_tokens,
                    3 * 8 / 3600.0 / answer.output_tokens_per_s * 1e6,
                    1e-9);
        const double busy = answer.pools.front().busy;
        EXPECT_NEAR(answer.kwh_per_million_tokens,
                    8 * (0.2 + busy * 0.8) / 3600 / answer.output_tokens_per_s * 1e6,
                    1e-9);
        EXPECT_EQ(pools.score, answer.cost_per_million_tokens);
    }
}

// Four ranks with different experts need a stage of four ranks, or of eight.
TEST(SearchPools, OnlyPossibleSizesAreTried) {
    Scenario scenario = load_with();
    scenario.pool_search.tensor_model_parallel_size = {1, 2, 4, 8};
    scenario.pool_search.arrangements = {PoolArrangement::aggregated};
    scenario.serving.pools.front().plan.expert_model_parallel_size = 4;
    const auto experts = search(scenario);
    ASSERT_TRUE(experts) << experts.error().to_string();
    EXPECT_EQ(experts->tried, 2);
    scenario.pool_search.arrangements = {};
    scenario.pool_search.pipeline_model_parallel_size = {1, 2};
    scenario.serving.pools.front().plan.expert_model_parallel_size = 1;
    scenario.serving.pools.front().plan.context_parallel_size = 2;
    const auto context = search(scenario);
    ASSERT_TRUE(context) << context.error().to_string();
    EXPECT_EQ(context->tried, 3);  // of one, two and four ranks, twice, without stages
}

TEST(SearchPools, WhatItNeedsIsSaid) {
    const auto error_of = [](const Scenario& scenario) {
        const auto found = search(scenario);
        return found ? "" : found.error().to_string();
    };
    EXPECT_NE(error_of(load_with("engine: vllm-v1")).find("needs objectives"), std::string::npos);
    EXPECT_NE(
        error_of(load_with(kObjectives, "{num_requests: 5, users: 3}")).find("arrivals whose rate"),
        std::string::npos);
    Scenario cost = load_with();
    cost.pool_search.objective = PoolObjective::cost;
    EXPECT_NE(error_of(cost).find("price_per_gpu_hour"), std::string::npos);
    Scenario never = load_with("objectives: {tpot: 1 us}");
    never.pool_search.tensor_model_parallel_size = {8};  // one candidate says as much as all
    EXPECT_NE(error_of(never).find("meets the objectives"), std::string::npos) << error_of(never);
    Scenario large = load_with();
    large.pool_search.tensor_model_parallel_size = {16};
    EXPECT_NE(error_of(large).find("no instance of these sizes fits"), std::string::npos);
}

}  // namespace
}  // namespace orrery
