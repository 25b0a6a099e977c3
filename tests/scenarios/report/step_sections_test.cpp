// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/report.h"
#include "scenarios/report/study_sections.h"
#include "tests/scenarios/report/sample_answer.h"

namespace orrery {
namespace {

TEST(StepSections, EveryFormHasTheSameAnswer) {
    Answer answer = sample_answer("small");
    answer.assumed = {{"plan.precision", "bf16"}};
    const Report report = step_sections(answer);
    for (const std::string& text : {to_text(report), to_markdown(report), to_html(report)}) {
        for (const char* due : {"6.34 s",
                                "DOES NOT FIT: the fullest GPU needs 90.0 GiB and has 80.0 GiB",
                                "exposed pipeline",
                                "nvls_tree",
                                "plan.precision"}) {
            EXPECT_NE(text.find(due), std::string::npos) << due << "\n" << text.substr(0, 2000);
        }
    }
}

TEST(StepSections, CsvIsOneRowOfSecondsBytesAndShares) {
    const std::string csv = to_csv(step_sections(sample_answer("small")));
    EXPECT_EQ(csv,
              "scenario,gpus,iteration [s],uncertainty,tokens_per_s,mfu,hfu,peak_memory "
              "[bytes],device_memory [bytes],fits\n"
              "small,12288,6.34,0,1984000,0.552,0.56,96636764160,85899345920,false\n");
}

TEST(StepSections, TheBarsOfTheWaterfallFollowEachOther) {
    const auto bars = step_sections(sample_answer("small")).sections.front().bars;
    for (std::size_t i = 1; i + 1 < bars.size(); ++i) {
        EXPECT_DOUBLE_EQ(bars[i].share, i == 1 ? 1 : bars[i - 1].begin);
    }
    EXPECT_NEAR(bars[bars.size() - 2].begin, bars.back().share, 1e-9);
}

}  // namespace
}  // namespace orrery
