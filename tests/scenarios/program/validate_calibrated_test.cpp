// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/format/read/read_calibration.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/validate.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

ValidateArguments arguments_of(const char* family) {
    ValidateArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training_more.csv";
    arguments.families = {family};
    arguments.calibrate_with = 3;
    arguments.jobs = 1;
    return arguments;
}

TEST(ValidateCalibrated, WritesACalibrationThatSimulateReads) {
    const TestFolder folder;
    ValidateArguments arguments = arguments_of("torchtune-3b");
    arguments.output = (folder / "tune.yaml").string();
    const CommandRun run = run_command([&] { return validate_command(arguments); });
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find("torchtune-3b"), std::string::npos);
    const auto calibration = read_calibration(arguments.output);
    ASSERT_TRUE(calibration);
    EXPECT_EQ(calibration->software, "torchtune");
    EXPECT_EQ(calibration->generation, "ampere");
    EXPECT_EQ(calibration->steps, 3);
    EXPECT_GT(calibration->spread, 0);
}

TEST(ValidateCalibrated, RefusesACalibrationOfSeveralSoftwares) {
    const TestFolder folder;
    ValidateArguments arguments = arguments_of("torchtune-3b");
    arguments.families.push_back("thunder-llama2-7b");
    arguments.output = (folder / "two.yaml").string();
    const CommandRun run = run_command([&] { return validate_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("a calibration is of one software"), std::string::npos) << run.err;
    EXPECT_FALSE(std::filesystem::exists(arguments.output));
}

}  // namespace
}  // namespace orrery
