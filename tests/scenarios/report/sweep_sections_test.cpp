// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

PointResult point(const char* x, const char* y, double tokens_per_s) {
    return {.scenario = "s.yaml",
            .settings = {{"plan.x", x}, {"plan.y", y}},
            .iteration_s = 1,
            .tokens_per_s = tokens_per_s,
            .peak_memory_bytes = 1 << 30,
            .fits = true};
}

TEST(SweepPage, HasACurveForEachValueOfTheOtherKeys) {
    SweepOutcome outcome{.points = 4};
    outcome.results = {
        point("1", "a", 10), point("2", "a", 20), point("1", "b", 30), point("2", "b", 41.5)};
    const std::string html = to_html(sweep_sections("study", outcome));
    EXPECT_NE(html.find("Tokens a second over x"), std::string::npos);
    EXPECT_NE(html.find("\"name\":\"y a\",\"values\":[10.0,20.0]"), std::string::npos);
    EXPECT_NE(html.find("\"name\":\"y b\",\"values\":[30.0,41.5]"), std::string::npos);
    // y is no number: no axis.
    EXPECT_EQ(html.find("Tokens a second over y"), std::string::npos);
    outcome.results = {{.scenario = "s.yaml", .error = "it can't be"}};
    EXPECT_NE(to_html(sweep_sections("study", outcome)).find("it can't be"), std::string::npos);
}

}  // namespace
}  // namespace orrery
