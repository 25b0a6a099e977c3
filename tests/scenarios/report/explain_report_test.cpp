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
    const std::string text = explain_report(sample());
    // All losses, without the gain of what is counted and not executed.
    EXPECT_NE(text.find("Of the 65.0 points"), std::string::npos) << text;
    EXPECT_NE(text.find("communication: 30.0"), std::string::npos) << text;
    EXPECT_NE(text.find("25 B"), std::string::npos) << "the memory that has to fit: " << text;
    EXPECT_LT(text.find("25.0 points"), text.find("20.0 points"));
    EXPECT_NE(text.find("tp 2 -> 4"), std::string::npos);
    EXPECT_NE(text.find("+25.0 %"), std::string::npos) << text;
    EXPECT_NE(text.find("What would help"), std::string::npos);
}

TEST(ExplainReport, SaysWhenNothingHelpsAndWhenItDoesNotFit) {
    Explanation explanation = sample();
    explanation.suggestions.clear();
    MemoryUse& memory = explanation.answer.memory;
    memory.fits = false;
    memory.device = memory.needed() - Bytes{1};
    const std::string text = explain_report(explanation);
    EXPECT_NE(text.find("No single change"), std::string::npos);
    EXPECT_NE(text.find("it does not fit"), std::string::npos);
}

TEST(ExplainReport, NamesTheServerWhoseMemoryIsTooSmall) {
    Explanation explanation = sample();
    MemoryUse& memory = explanation.answer.memory;
    memory.fits = false;
    memory.device = memory.needed();
    memory.host_memory = Bytes{std::int64_t{2} << 30};
    memory.host = Bytes{std::int64_t{3} << 30};
    const std::string text = explain_report(explanation);
    EXPECT_EQ(text.find("it does not fit"), std::string::npos) << text;
    EXPECT_NE(text.find("DOES NOT FIT: a server needs 3.00 GiB of host memory and has 2.00 GiB"),
              std::string::npos)
        << text;
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
