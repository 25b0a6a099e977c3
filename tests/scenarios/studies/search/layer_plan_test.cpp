// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/layer_plan.h"

#include <gtest/gtest.h>

#include "scenarios/studies/search/largest_fit.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

Scenario with_gigabytes(double gigabytes) {
    Scenario scenario = small_scenario("layers", {"plan.pipeline_model_parallel_size=2"});
    scenario.device.memory = Bytes{static_cast<std::int64_t>(gigabytes * 1e9)};
    return scenario;
}

double gigabytes_with(Scenario scenario, std::int64_t layers) {
    scenario.plan.recompute_granularity = layers > 0 ? Recompute::full : Recompute::none;
    scenario.plan.recompute_method = layers > 0 ? RecomputeMethod::block : RecomputeMethod::uniform;
    scenario.plan.recompute_num_layers = layers;
    scenario.device.memory = Bytes{1'000'000'000'000};
    return static_cast<double>(memory_of_step(scenario)->needed().count()) * 1e-9;
}

TEST(LayerPlan, AsFewLayersRunAgainAsMemoryAllows) {
    const Scenario scenario = with_gigabytes(100);
    for (std::int64_t layers = 0; layers <= 4; ++layers) {
        const double needs = gigabytes_with(scenario, layers);
        const Result<LayerPlan> plan = plan_layers(with_gigabytes(needs + 0.001));
        ASSERT_TRUE(plan) << plan.error().what;
        EXPECT_EQ(plan->layers, 4);
        EXPECT_EQ(plan->recomputed, layers) << needs;
        EXPECT_TRUE(plan->answer.memory.fits);
        EXPECT_EQ(plan->set.size(), layers > 0 ? 3U : 1U);
        if (layers < 4) {
            EXPECT_LT(plan->answer.iteration, plan->all_recomputed.iteration);
            EXPECT_LT(gigabytes_with(scenario, layers + 1), needs);
        } else {
            EXPECT_EQ(plan->answer.iteration, plan->all_recomputed.iteration);
        }
    }
}

TEST(LayerPlan, SaysThatEvenTheSmallestDoesNotFit) {
    const Result<LayerPlan> plan =
        plan_layers(with_gigabytes(gigabytes_with(with_gigabytes(1), 4) - 0.001));
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().what.find("even if all layers run again"), std::string::npos)
        << plan.error().what;
}

}  // namespace
}  // namespace orrery
