// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/validation_report.h"

namespace orrery {
namespace {

StepSample sample(const std::string& family, double measured_s, double predicted_s) {
    return {.name = family,
            .family = family,
            .generation = "hopper",
            .measured_s = measured_s,
            .communication = predicted_s};
}

// Without kernels a prediction is the time that no factor stretches.
TEST(FitReport, HasALineForEachFamilyAndTheirMeanMedian) {
    FittedSteps fitted;
    fitted.fit.samples = {sample("ten off", 1, 1.1), sample("thirty off", 2, 1.4)};
    fitted.unseen.families = {{"ten off", {0.0}}, {"thirty off", {0.0}}};
    for (const char* stack : {"a", "b", "c", "d", "e"}) {
        UnseenSteps& of_stack = fitted.unseen.pools[Unseen::lineage];
        of_stack[stack] = {{.error = 0, .num_gpus = 1}, {.error = -0.08, .num_gpus = 16}};
    }
    fitted.calls = {{.name = "one", .generation = "hopper", .dtype = "bf16", .call = 3.25}};
    const Report report = step_fit_sections(fitted);
    const std::vector<TextRow> rows = text_rows(report.sections[0].table);
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[1], (TextRow{"ten off", "1", "10.0 %", "10.0 %", "0.0 %"}));
    EXPECT_EQ(rows[2], (TextRow{"thirty off", "1", "30.0 %", "30.0 %", "0.0 %"}));
    EXPECT_EQ(rows[3], (TextRow{"balanced median error", "2", "20.0 %", "20.0 %", "0.0 %"}));
    EXPECT_EQ(report.sections.size(), 3U);
    ASSERT_EQ(report.sections[1].after.size(), 1U);
    EXPECT_NE(report.sections[1].after[0].find("each doubling of the GPUs adds 2.0 %"),
              std::string::npos)
        << report.sections[1].after[0];
    fitted.floor = RatioFloor{.factors = 7, .ratio_error = 0.04, .balanced_error = 0.02};
    EXPECT_EQ(text_rows(step_fit_sections(fitted).sections.at(3).table).at(1),
              (TextRow{"7", "4.0 %", "2.0 %"}));
}

}  // namespace
}  // namespace orrery
