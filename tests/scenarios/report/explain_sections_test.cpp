// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/render/report.h"
#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"
#include "tests/scenarios/report/sample_answer.h"
#include "tests/scenarios/report/sample_explanation.h"

namespace orrery {
namespace {

// All losses count, without the gain of what is counted and not executed.
TEST(ExplainSections, SayWhereMostIsLostAndWhatWouldHelp) {
    expect_golden("explain", to_text(explain_sections(sample_explanation())));
}

TEST(ExplainSections, SayWhenNothingHelpsAndWhenItDoesNotFit) {
    Explanation explanation = sample_explanation();
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
