// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/calibration_file.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/format/specs/calibration.h"
#include "scenarios/program/simulate.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

std::string calibration_file(const TestFolder& folder, const char* generation) {
    Calibration facts;
    facts.name = "mine";
    facts.software = "nemo";
    facts.generation = generation;
    facts.precision = "fp16";
    facts.products = 1.5;
    return folder.write("mine.yaml", calibration_text(facts, "a test"));
}

TEST(CalibrationFile, NotesOtherDevicesAndOtherSoftware) {
    const TestFolder folder;
    const auto scenario =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/gpt2-124m-1gpu.yaml");  // on Hopper
    ASSERT_TRUE(scenario);
    const auto noted = [&](const char* generation) {
        testing::internal::CaptureStderr();
        EXPECT_TRUE(calibrated_step_table(calibration_file(folder, generation), &*scenario));
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_NE(noted("ampere").find("nothing changes"), std::string::npos);
    EXPECT_NE(noted("hopper").find("its interval stays as wide"), std::string::npos);
}

TEST(CalibrationFile, SlowsASimulationDown) {
    const TestFolder folder;
    SimulateArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/gpt2-124m-1gpu.yaml";
    arguments.json = true;
    const auto iteration = [&] {
        const CommandRun run = run_command([&] { return simulate_command(arguments); });
        EXPECT_EQ(run.status, 0) << run.err;
        const std::size_t at = run.out.find("\"iteration_s\":");
        return std::atof(run.out.substr(at + 14).c_str());
    };
    const double plain = iteration();
    arguments.calibration_file = calibration_file(folder, "hopper");
    EXPECT_GT(iteration(), 1.2 * plain);
    arguments.calibration_file = "/nowhere/none.yaml";
    EXPECT_NE(run_command([&] { return simulate_command(arguments); }).status, 0);
}

TEST(CalibrationFile, StandsInAResult) {
    const TestFolder folder;
    Provenance provenance = provenance_of("simulate");
    EXPECT_TRUE(add_calibration(provenance, {}).options.empty());
    add_calibration(provenance, calibration_file(folder, "hopper"));
    ASSERT_EQ(provenance.options.size(), 1U);
    EXPECT_EQ(provenance.options[0].second, "mine.yaml");
    EXPECT_EQ(provenance.inputs.size(), 1U);
}

}  // namespace
}  // namespace orrery
