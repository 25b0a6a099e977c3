// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/explain_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/report/sample_explanation.h"

namespace orrery {
namespace {

TEST(ExplainReport, NamesTheGroupThatLosesMost) {
    const auto [group, points] = main_limit(sample_explanation().answer);
    EXPECT_EQ(group, "communication");
    EXPECT_DOUBLE_EQ(points, 0.2 + 0.1);
    EXPECT_EQ(main_limit(Answer{}).second, 0);
}

TEST(ExplainReport, JsonHasLimitsAndSuggestions) {
    const auto json = nlohmann::json::parse(explain_json(sample_explanation()));
    EXPECT_EQ(json["limits"][0]["cause"], "pipeline_bubble");
    EXPECT_EQ(json["limits"].size(), 4u);
    EXPECT_EQ(json["suggestions"][0]["gain"], 0.25);
    EXPECT_EQ(json["suggestions"][0]["set"][0], "plan.x=4");
}

}  // namespace
}  // namespace orrery
