// SPDX-License-Identifier: Apache-2.0
// The published schema of --json and what the program prints are the same thing.
#include "tests/scenarios/report/json_schema.h"

#include <gtest/gtest.h>

#include <fstream>

#include "scenarios/report/provenance_report.h"
#include "scenarios/report/render/json_report.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/each_small_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

nlohmann::json schema() {
    return nlohmann::json::parse(
        std::ifstream{ORRERY_SOURCE_DIR "/docs/schema/simulate.schema.json"});
}

nlohmann::json printed(const Scenario& scenario, const Answer& answer) {
    return nlohmann::json::parse(
        with_provenance(json_report(answer), provenance_of("simulate", scenario)));
}

std::vector<std::string> mistakes_of(const nlohmann::json& value) {
    SchemaCheck check;
    check.check(value, schema(), "");
    return check.mistakes;
}

class JsonSchema : public EachSmallScenario {};

TEST_P(JsonSchema, IsWhatSimulatePrints) {
    const auto answer = simulate_scenario(scenario);
    ASSERT_TRUE(answer);
    for (const std::string& mistake : mistakes_of(printed(scenario, *answer))) {
        ADD_FAILURE() << mistake;
    }
}

INSTANTIATE_TEST_SUITE_P(SmallScenarios,
                         JsonSchema,
                         ::testing::ValuesIn(named_small_scenarios()),
                         [](const auto& param) { return test_name(param.param); });

TEST(JsonSchema, HoldsForAStepWithFaultsAndTellsMistakes) {
    const Scenario scenario =
        small_scenario("s", {"faults=[{kind: slow_gpu, at: \"node:1/gpu:1\", factor: 1.5}]"});
    const auto answer = simulate_scenario(scenario);
    ASSERT_TRUE(answer);
    auto json = printed(scenario, *answer);
    ASSERT_FALSE(json["rank_waits"].empty());
    EXPECT_EQ(mistakes_of(json), std::vector<std::string>{});
    json["mfu"] = 1.5;
    json.erase("seed");
    json["extra"] = 1;
    json["fits"] = "yes";
    EXPECT_EQ(mistakes_of(json).size(), 4u);
}

}  // namespace
}  // namespace orrery
