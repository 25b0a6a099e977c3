// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/serving_report.h"

namespace orrery {
namespace {

PoolSearchResult found_pools() {
    ServingPoolSpec prompts{.role = PoolRole::prefill, .instances = 3};
    prompts.plan.tensor_model_parallel_size = 8;
    ServingPoolSpec generation = prompts;
    generation.role = PoolRole::decode;
    generation.instances = 5;
    FoundPools found{.pools = {prompts, generation}, .gpus = 64, .rate = 12.5};
    found.answer.output_tokens_per_s = 2500;
    found.answer.ttft_s.p99 = 0.5;
    found.answer.cost_per_million_tokens = 4.5;
    return {.best = {found}, .tried = 9, .worse = 6, .unfit = 2, .why_unfit = "no room"};
}

TEST(PoolSearchReport, ARowForEachOfTheBest) {
    const std::string text = to_text(pool_search_sections({}, found_pools()));
    for (const char* part :
         {"3 x tp 8 + 5 x tp 8", "12.50", "0.195", "500 ms", "4.500", "1 of 9", "no room"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    EXPECT_EQ(text.find("kWh"), std::string::npos);
}

TEST(PoolSearchReport, JsonHasThePools) {
    const auto json = nlohmann::json::parse(pool_search_json({}, found_pools()));
    EXPECT_EQ(json["objective"], "rate");
    const auto& best = json["best"][0];
    EXPECT_EQ(best["pools"][1]["role"], "decode");
    EXPECT_EQ(best["pools"][1]["instances"], 5);
    EXPECT_EQ(best["rate"], 12.5);
    EXPECT_EQ(best["cost_per_million_tokens"], 4.5);
    EXPECT_TRUE(best["kwh_per_million_tokens"].is_null());
    EXPECT_EQ(json["unfit"], 2);
}

}  // namespace
}  // namespace orrery
