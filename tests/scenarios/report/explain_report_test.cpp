// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/explain_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

Explanation sample() {
    Explanation explanation{.tried = 9, .refused = 3, .too_large = 1};
    Answer& answer = explanation.answer;
    answer.scenario = "small";
    answer.iteration = Time::seconds(2);
    answer.mfu = 0.5;
    answer.lost_mfu = {{Cause::gemm_inefficiency, 0.1, Time::seconds(0.4)},
                       {Cause::exposed_data, 0.2, Time::seconds(0.8)},
                       {Cause::pipeline_bubble, 0.25, Time::seconds(1.0)},
                       {Cause::exposed_tensor, 0.1, Time::seconds(0.4)},
                       {Cause::counted_not_executed, -0.15, Time{}}};
    answer.memory.peak = Bytes{40};
    answer.memory.device = Bytes{80};
    explanation.suggestions = {{.change = {ChangeKind::plan, "tp 2 -> 4", {"plan.x=4"}},
                                .gain = 0.25,
                                .iteration = Time::seconds(1.6),
                                .mfu = 0.625,
                                .peak_memory = Bytes{20},
                                .needed_memory = Bytes{25}}};
    return explanation;
}

TEST(ExplainReport, NamesTheGroupThatLosesMost) {
    const auto [group, points] = main_limit(sample().answer);
    EXPECT_EQ(group, "communication");
    EXPECT_DOUBLE_EQ(points, 0.2 + 0.1);
    EXPECT_EQ(main_limit(Answer{}).second, 0);
}

TEST(ExplainReport, JsonHasLimitsAndSuggestions) {
    const auto json = nlohmann::json::parse(explain_json(sample()));
    EXPECT_EQ(json["limits"][0]["cause"], "pipeline_bubble");
    EXPECT_EQ(json["limits"].size(), 4u);
    EXPECT_EQ(json["suggestions"][0]["gain"], 0.25);
    EXPECT_EQ(json["suggestions"][0]["set"][0], "plan.x=4");
}

}  // namespace
}  // namespace orrery
