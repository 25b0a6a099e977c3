// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/validate.h"
#include "tests/test_folder.h"

namespace orrery {
namespace validate_steps_test {

void no_progress(double) {}

TEST(ValidateSteps, RunsOfOnesOwnNameTheirScenarios) {
    const TestFolder folder;
    ValidateArguments arguments;
    arguments.file = folder.write(
        "runs.csv", "scenario,measured_s\n" ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml,0.5\n");
    const auto output = validate_step_table(arguments, no_progress);
    ASSERT_TRUE(output) << output.error().front().to_string();
    EXPECT_EQ(output->report.sections.front().table.rows.size(), 1u);
    arguments.calibrate_with = 1;
    const auto refused = validate_step_table(arguments, no_progress);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().front().hint.find("orrery import log"), std::string::npos);
}

TEST(ValidateSteps, EveryMistakenAssumptionIsTold) {
    ValidateArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv";
    arguments.assume = {"gpu", "=1"};
    const auto output = validate_step_table(arguments, no_progress);
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().size(), 2u);
}

}  // namespace validate_steps_test
}  // namespace orrery
