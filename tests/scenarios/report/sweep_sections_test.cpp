// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"
#include "tests/scenarios/report/sample_sweep.h"

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
    EXPECT_NE(html.find("\"labels\":[\"x 1, y a\""), std::string::npos);
    EXPECT_EQ(html.find("\"name\":\"does not fit\""), std::string::npos);
    // Points that do not fit are on no curve.
    outcome.results[1].fits = false;
    EXPECT_NE(
        to_html(sweep_sections("study", outcome)).find("\"name\":\"y a\",\"values\":[10.0,null]"),
        std::string::npos);
    EXPECT_NE(to_html(sweep_sections("study", outcome)).find("\"name\":\"does not fit\""),
              std::string::npos);
    outcome.results[1].fits = true;
    // y is no number: no axis.
    EXPECT_EQ(html.find("Tokens a second over y"), std::string::npos);
    outcome.results = {{.scenario = "s.yaml", .error = "it can't be"}};
    EXPECT_NE(to_html(sweep_sections("study", outcome)).find("it can't be"), std::string::npos);
}

TEST(SweepSections, HaveTheFastestFirstAndNameTheErrors) {
    expect_golden("sweep", to_text(sweep_sections("study", sample_sweep())));
}

TEST(SweepSections, WhatDoesNotFitComesLast) {
    SweepOutcome outcome = sample_sweep();
    outcome.results[1].fits = false;
    const std::string text = to_text(sweep_sections("study", outcome));
    EXPECT_GT(text.find(" 1.00 s"), text.rfind(" 2.00 s")) << text;
    EXPECT_NE(text.find("does not fit"), std::string::npos);
}

TEST(SweepSections, ATerminalShowsTwentyPointsAndCountsTheRest) {
    SweepOutcome outcome{.points = 30};
    for (int i = 0; i < 30; ++i) {
        outcome.results.push_back(point(std::to_string(i).c_str(), "a", i));
    }
    outcome.crashed = {"point 3 was killed by signal 9"};
    const std::string text = to_text(sweep_sections("study", outcome));
    EXPECT_NE(text.find("  and 10 slower ones, or ones that do not fit\n"), std::string::npos);
    EXPECT_NE(text.find("signal 9; it is run again at the next start"), std::string::npos);
}

}  // namespace
}  // namespace orrery
