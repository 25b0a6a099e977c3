// SPDX-License-Identifier: Apache-2.0
#include "scenarios/measure/recorded_run.h"

#include <gtest/gtest.h>

#include "tests/scenarios/made_up_run.h"

namespace orrery {
namespace {

std::string error_of(const std::filesystem::path& folder) {
    const auto run = read_recorded_run(folder);
    return run ? "" : run.error()[0].to_string();
}

TEST(RecordedRun, ReadsBackScenarioMachineAndSteps) {
    const TestFolder folder;
    write_made_up_run(folder, 2, 1.0);
    const auto run = read_recorded_run(folder / "run");
    ASSERT_TRUE(run) << run.error()[0].to_string();
    EXPECT_EQ(run->description.machine, "a \"made-up\" machine");
    EXPECT_EQ(run->description.ranks, 2U);
    EXPECT_EQ(run->ranks.size(), 2U);
    EXPECT_EQ(run->steps.size(), 4U);
    EXPECT_EQ(run->program.num_ranks(), 2U);
}

TEST(RecordedRun, OverridesAreThoseOfTheRun) {
    const TestFolder folder;
    write_made_up_run(folder, 1, 1.0);
    ASSERT_TRUE(write_run_description(folder / "run",
                                      {.scenario = folder / "s.yaml",
                                       .overrides = {"job.steps=7", "name=other"},
                                       .machine = "m",
                                       .ranks = 1}));
    const auto run = read_recorded_run(folder / "run");
    ASSERT_TRUE(run) << run.error()[0].to_string();
    EXPECT_EQ(run->scenario.job.training.steps, 7);
    EXPECT_EQ(run->scenario.name, "other");
}

TEST(RecordedRun, WhatIsNoneOrNoLongerOfTheScenarioIsAnError) {
    const TestFolder folder;
    EXPECT_NE(error_of(folder / "none").find("no recorded run"), std::string::npos);
    write_made_up_run(folder, 2, 1.0);
    EXPECT_EQ(error_of(folder / "run"), "");
    std::filesystem::remove(folder / "run/rank-0001.ops.csv");
    EXPECT_NE(error_of(folder / "run").find("rank-0001.ops.csv"), std::string::npos);
    folder.write("s.yaml", made_up_scenario(2) + "# changed\n");
    EXPECT_NE(error_of(folder / "run").find("has changed since"), std::string::npos);
    folder.write("run/run.yaml", "[1]\n");
    EXPECT_NE(error_of(folder / "run").find("not a recorded run"), std::string::npos);
    folder.write("run/run.yaml", "scenario: x\n");
    EXPECT_NE(error_of(folder / "run").find("checksum"), std::string::npos);
}

TEST(RecordedRun, RanksOfAnotherNumberAreOfAnotherScenario) {
    const TestFolder folder;
    write_made_up_run(folder, 2, 1.0);
    ASSERT_TRUE(write_run_description(
        folder / "run",
        {.scenario = folder / "s.yaml", .overrides = {}, .machine = "m", .ranks = 1}));
    EXPECT_NE(error_of(folder / "run").find("of another scenario"), std::string::npos);
}

}  // namespace
}  // namespace orrery
