// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/step_validation.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/test_folder.h"

namespace orrery {
namespace {

TEST(StepValidation, OwnRunsStandBesideTheirSimulatedStepsAndTheControl) {
    const auto control = fitted_control(default_catalogue());
    ASSERT_TRUE(control);
    const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/gpt2-124m-1gpu.yaml");
    ASSERT_TRUE(scenario);
    const Answer answer = simulate_scenario(*scenario, {.step_table = EfficiencyTable{}}).value();
    MeasuredRun run{.name = "a", .family = "f", .scenario = *scenario, .measured_s = 1};
    double last = 0;
    const Validation found = validate_runs(
        {run, run}, *control, {.catalogue = default_catalogue(), .progress = [&](double share) {
                                   EXPECT_GT(share, last);
                                   last = share;
                               }});
    ASSERT_EQ(found.rows.size(), 2U);
    EXPECT_EQ(last, 1.0);
    EXPECT_EQ(found.rows[0].name, "a");
    EXPECT_EQ(found.rows[0].family, "f");
    EXPECT_EQ(found.rows[0].predicted_s, answer.iteration.seconds());
    EXPECT_EQ(found.rows[0].control_s, control->predicted_s(*scenario));
    EXPECT_EQ(found.rows[0].sigma, answer.uncertainty);
}

TEST(StepValidation, ARowThatIsNoScenarioIsToldWithItsReason) {
    const auto control = fitted_control(default_catalogue());
    ASSERT_TRUE(control);
    auto cases = read_published_cases(control_table(default_catalogue()).string());
    ASSERT_TRUE(cases);
    PublishedCase row = cases->front();
    row.gpu = "no-such-gpu";
    const Validation found = validate_steps({row}, *control, {.catalogue = default_catalogue()});
    EXPECT_TRUE(found.rows.empty());
    ASSERT_EQ(found.skipped.size(), 1U);
    EXPECT_EQ(found.skipped[0].name, row.name);
    EXPECT_FALSE(found.skipped[0].reason.empty());
}

}  // namespace
}  // namespace orrery
