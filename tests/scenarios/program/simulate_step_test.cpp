// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "scenarios/program/simulate.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(SimulateStep, WritesTheStepForOtherTools) {
    const TestFolder folder;
    SimulateArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";
    arguments.chakra_folder = (folder / "traces").string();
    const auto simulated = simulated_case(arguments);
    ASSERT_TRUE(simulated);
    ASSERT_TRUE(check_chakra(arguments, simulated->scenario));
    const auto output = step_output(arguments, *simulated, [](double) {});
    ASSERT_TRUE(output) << output.error().front().to_string();
    EXPECT_FALSE(std::filesystem::is_empty(folder / "traces"));
    EXPECT_FALSE(output->json.empty());
    EXPECT_TRUE(output->html.empty());
}

TEST(SimulateStep, AMissingCalibrationIsAnError) {
    SimulateArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";
    arguments.calibration_file = "/no/such/calibration.yaml";
    const auto simulated = simulated_case(arguments);
    ASSERT_TRUE(simulated);
    EXPECT_FALSE(step_output(arguments, *simulated, [](double) {}));
}

}  // namespace
}  // namespace orrery
