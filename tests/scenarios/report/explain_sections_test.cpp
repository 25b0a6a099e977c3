// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/report.h"
#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"
#include "tests/scenarios/report/sample_answer.h"

namespace orrery {
namespace {

Explanation small_explanation() {
    Explanation explanation{.tried = 9, .refused = 3, .too_large = 1};
    Answer& answer = explanation.answer;
    answer.scenario = "small";
    answer.model = "gpt";
    answer.cluster = "1 x dgx";
    answer.plan = "tp 2";
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
    explanation.hot_experts = HotExperts{.layer = 3,
                                         .rank = RankId{5},
                                         .over_mean = 1.4,
                                         .worst = 1.6,
                                         .mean_worst = 1.3,
                                         .dropped = 0.01,
                                         .busiest = RankId{2},
                                         .busiest_over_mean = 1.2,
                                         .balanced = Time::seconds(1.5)};
    return explanation;
}

// All losses count, without the gain of what is counted and not executed.
TEST(ExplainSections, SayWhereMostIsLostAndWhatWouldHelp) {
    expect_golden("explain", to_text(explain_sections(small_explanation())));
}

TEST(ExplainSections, SayWhenNothingHelpsAndWhenItDoesNotFit) {
    Explanation explanation = small_explanation();
    explanation.suggestions.clear();
    explanation.answer.memory.peak = Bytes{90};
    explanation.answer.memory.fits = false;
    const std::string text = to_text(explain_sections(explanation));
    EXPECT_NE(text.find("No single change"), std::string::npos) << text;
    EXPECT_NE(text.find("of 80 B: does not fit"), std::string::npos) << text;
}

TEST(ExplainSections, NameLimitsAndChangesWithTheirOverrides) {
    Explanation explanation{.answer = sample_answer("small"), .tried = 9, .refused = 2};
    explanation.suggestions = {{.change = {.kind = ChangeKind::plan,
                                           .words = "half the tensor parallelism",
                                           .overrides = {"plan.tensor_model_parallel_size=2"}},
                                .gain = 0.125,
                                .iteration = Time::seconds(5),
                                .mfu = 0.6,
                                .peak_memory = Bytes{std::int64_t{70} << 30},
                                .needed_memory = Bytes{std::int64_t{72} << 30}}};
    const Report report = explain_sections(explanation);
    const std::string text = to_text(report);
    for (const char* due : {"DOES NOT FIT",
                            "GEMM inefficiency",
                            "What would fit, simulated",
                            "+12.5 %",
                            "72.0 GiB",
                            "Tried 9 changes"}) {
        EXPECT_NE(text.find(due), std::string::npos) << due << "\n" << text;
    }
    EXPECT_NE(to_markdown(report).find("plan.tensor_model_parallel_size=2"), std::string::npos);
    EXPECT_EQ(to_csv(report),
              "change,tokens/s,step [s],MFU,memory [bytes],--set\n"
              "half the tensor parallelism,0.125,5,0.6,77309411328,"
              "plan.tensor_model_parallel_size=2\n");
}

}  // namespace
}  // namespace orrery
