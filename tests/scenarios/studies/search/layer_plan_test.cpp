// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/layer_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "scenarios/studies/search/largest_fit.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

Scenario with_gigabytes(double gigabytes) {
    Scenario scenario = small_scenario("layers", {"plan.pipeline_model_parallel_size=2"});
    scenario.device.memory = Bytes{static_cast<std::int64_t>(gigabytes * 1e9)};
    return scenario;
}

bool fits_with(Scenario scenario, std::int64_t layers) {
    scenario.plan.recompute_granularity = layers > 0 ? Recompute::full : Recompute::none;
    scenario.plan.recompute_method = RecomputeMethod::block;
    scenario.plan.recompute_num_layers = std::max<std::int64_t>(layers, 1);
    return memory_of_step(scenario)->fits;
}

// The least number that fits, tried one after the other, is what the study finds.
TEST(LayerPlan, AsFewLayersRunAgainAsMemoryAllows) {
    std::set<std::int64_t> seen;
    for (double gigabytes = 1; gigabytes < 6; gigabytes += 0.1) {
        const Scenario scenario = with_gigabytes(gigabytes);
        std::int64_t fewest = 0;
        while (fewest <= 4 && !fits_with(scenario, fewest)) {
            ++fewest;
        }
        const Result<LayerPlan> plan = plan_layers(scenario);
        seen.insert(fewest);
        if (fewest > 4) {
            ASSERT_FALSE(plan);
            EXPECT_NE(plan.error().what.find("even if all layers run again"), std::string::npos)
                << plan.error().what;
            continue;
        }
        ASSERT_TRUE(plan) << plan.error().what;
        EXPECT_EQ(plan->layers, 4);
        EXPECT_EQ(plan->recomputed, fewest) << gigabytes;
        EXPECT_TRUE(plan->answer.memory.fits);
        EXPECT_EQ(plan->set.size(), fewest > 0 ? 3U : 1U);
        EXPECT_EQ(plan->answer.iteration < plan->all_recomputed.iteration, fewest < 4);
    }
    EXPECT_GE(seen.size(), 4U) << "memory ends in between";
    EXPECT_TRUE(seen.contains(0));
    EXPECT_TRUE(seen.contains(5));
}

}  // namespace
}  // namespace orrery
