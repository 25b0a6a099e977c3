// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/checked_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(CheckedFile, ASummaryNamesModelGpusAndPlan) {
    const Scenario scenario = small_scenario("s", {"plan.tensor_model_parallel_size=2"});
    const std::string text = summary_of(scenario, false);
    EXPECT_NE(text.find("8 ranks"), std::string::npos) << text;
    EXPECT_NE(text.find("tp 2, pp 1, cp 1, dp 4"), std::string::npos) << text;
    EXPECT_NE(summary_of(scenario, true).find("8 ranks ("), std::string::npos);
}

TEST(CheckedFile, JsonHasEveryError) {
    const auto json = nlohmann::json::parse(
        checked_json({{.file = "a", .kind = "scenario", .errors = {}, .summary = "good"},
                      {.file = "b", .kind = "study", .errors = {{"b:1:2", "wrong", "hint"}}}}));
    EXPECT_EQ(json["right"], false);
    EXPECT_EQ(json["files"][0]["right"], true);
    EXPECT_EQ(json["files"][1]["errors"][0]["where"], "b:1:2");
}

}  // namespace
}  // namespace orrery
