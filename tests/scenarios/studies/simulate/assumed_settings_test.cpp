// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/assumed_settings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

bool is_assumed(const Scenario& scenario, const std::string& key, const std::string& value) {
    const auto assumed = assumed_settings(scenario);
    return std::ranges::find(assumed, std::pair{key, value}) != assumed.end();
}

TEST(AssumedSettings, AreTheShapingKeysThatTheScenarioLacks) {
    EXPECT_TRUE(is_assumed(small_scenario("s", {}), "plan.recompute_granularity", "none"));
    EXPECT_FALSE(is_assumed(small_scenario("s", {"plan.recompute_granularity=none"}),
                            "plan.recompute_granularity",
                            "none"));
}

TEST(AssumedSettings, KeysWithoutEffectAreLeftOut) {
    const std::string pipeline = "plan.pipeline_model_parallel_size=2";
    EXPECT_FALSE(is_assumed(small_scenario("s", {}), "plan.schedule", "1f1b"));
    EXPECT_TRUE(is_assumed(small_scenario("s", {pipeline}), "plan.schedule", "1f1b"));
}

TEST(AssumedSettings, OfAScenarioWithoutADocumentAreNone) {
    EXPECT_TRUE(assumed_settings(Scenario{}).empty());
}

}  // namespace
}  // namespace orrery
