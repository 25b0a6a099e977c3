// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

TEST(ComparisonPage, PutsPredictedOverMeasured) {
    RunComparison run{.scenario = "tiny", .measured_s = 0.5, .predicted_s = 0.75};
    run.parts = {{.name = "gemm", .measured_s = 0.25, .predicted_s = 0.5},
                 {.name = "adamw", .measured_s = 0.125, .predicted_s = 0.0625},
                 {.name = "wait", .measured_s = 0, .predicted_s = 0.1},
                 {.name = "residual_add"}};
    const std::string html = to_html(comparison_sections(run));
    EXPECT_NE(html.find("\"xs\":[0.125,0.25]"), std::string::npos);
    EXPECT_NE(html.find("\"values\":[0.0625,0.5]"), std::string::npos);
    EXPECT_NE(html.find("+50.0 %"), std::string::npos);
    EXPECT_NE(html.find("wait"), std::string::npos);
    // The run had none, and none was predicted.
    EXPECT_EQ(html.find("residual_add"), std::string::npos);
}

}  // namespace
}  // namespace orrery
