// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diff/shown_scenario.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/each_small_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

class ShownScenario : public EachSmallScenario {};

TEST_P(ShownScenario, ReadAgainIsSimulatedIdentically) {
    const std::string text = to_yaml(shown_scenario(scenario));
    const auto again = read_scenario_text(text, "shown", "");
    ASSERT_TRUE(again) << again.error().front().to_string() << "\n" << text;
    const auto before = simulate_scenario(scenario);
    const auto after = simulate_scenario(*again);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(before->iteration, after->iteration) << text;
    EXPECT_EQ(before->memory.peak, after->memory.peak);
    EXPECT_EQ(before->hfu, after->hfu);
    EXPECT_TRUE(scenario.plan == again->plan);
}

INSTANTIATE_TEST_SUITE_P(SmallScenarios,
                         ShownScenario,
                         ::testing::ValuesIn(named_small_scenarios()),
                         [](const auto& param) { return test_name(param.param); });

TEST(ShownDefaults, AreMarkedAndStandBesideGivenKeys) {
    const Scenario scenario = small_scenario("s", {"plan.recompute_granularity=selective"});
    const std::string text = to_yaml(shown_scenario(scenario));
    EXPECT_NE(text.find("recompute_granularity: selective\n"), std::string::npos) << text;
    EXPECT_NE(text.find("sequence_parallel: false"), std::string::npos) << text;
    EXPECT_NE(text.find("# default"), std::string::npos) << text;
}

}  // namespace
}  // namespace orrery
