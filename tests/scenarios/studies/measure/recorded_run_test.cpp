// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/recorded_run.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/effective_scenario.h"
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

// Writes a description of the made-up scenario with other values beside the recordings.
void describe_again(const TestFolder& folder, std::vector<std::string> overrides) {
    const auto scenario = read_scenario(folder / "s.yaml", {.overrides = std::move(overrides)});
    ASSERT_TRUE(scenario) << scenario.error()[0].to_string();
    ASSERT_TRUE(write_run_description(folder / "run", *scenario, {.machine = "m", .ranks = 1}));
}

TEST(RecordedRun, OverridesAreThoseOfTheRun) {
    const TestFolder folder;
    write_made_up_run(folder, 1, 1.0);
    describe_again(folder, {"job.steps=7", "name=other"});
    const auto run = read_recorded_run(folder / "run");
    ASSERT_TRUE(run) << run.error()[0].to_string();
    EXPECT_EQ(run->scenario.job.training.steps, 7);
    EXPECT_EQ(run->scenario.name, "other");
    EXPECT_EQ(run->scenario.origin->overrides.size(), 2U);
    EXPECT_EQ(run->scenario.origin->file, "s.yaml");
    EXPECT_EQ(run->description.build.version, kVersion);
}

TEST(RecordedRun, IsReadWhereverItLiesAndWhateverBecameOfItsScenario) {
    const TestFolder folder;
    folder.write("config.json",
                 R"({"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 2,
                     "n_positions": 16, "vocab_size": 256})");
    write_made_up_run(folder, 1, 1.0);
    describe_again(folder, {"model={hf_config: config.json}", "model.seq_length=16"});
    const auto before = read_recorded_run(folder / "run");
    ASSERT_TRUE(before) << before.error()[0].to_string();
    folder.write("s.yaml", "no scenario any more");
    std::filesystem::remove(folder / "config.json");
    std::filesystem::remove(folder / "text.txt");
    std::filesystem::create_directory(folder / "elsewhere");
    std::filesystem::rename(folder / "run", folder / "elsewhere/moved");
    const auto after = read_recorded_run(folder / "elsewhere/moved");
    ASSERT_TRUE(after) << after.error()[0].to_string();
    EXPECT_EQ(after->scenario.model.hidden_size, 32);
    EXPECT_TRUE(after->scenario.model == before->scenario.model);
    EXPECT_TRUE(after->scenario.plan == before->scenario.plan);
    EXPECT_EQ(after->steps.size(), before->steps.size());
}

TEST(RecordedRun, AnOldRecordingSaysWhyItCantBeRead) {
    const TestFolder folder;
    write_made_up_run(folder, 1, 1.0);
    std::filesystem::remove(folder / "run/run.json");
    folder.write("run/run.yaml", "scenario: /somewhere/s.yaml\nchecksum: 1\n");
    const std::string error = error_of(folder / "run");
    EXPECT_NE(error.find("older version"), std::string::npos) << error;
    EXPECT_NE(error.find("record it again"), std::string::npos) << error;
}

TEST(RecordedRun, WhatIsNoneIsAnError) {
    const TestFolder folder;
    EXPECT_NE(error_of(folder / "none").find("no recorded run"), std::string::npos);
    write_made_up_run(folder, 2, 1.0);
    EXPECT_EQ(error_of(folder / "run"), "");
    std::filesystem::remove(folder / "run/rank-0001.ops.csv");
    EXPECT_NE(error_of(folder / "run").find("rank-0001.ops.csv"), std::string::npos);
    folder.write("run/run.json", "[1]\n");
    EXPECT_NE(error_of(folder / "run").find("not a recorded run"), std::string::npos);
    folder.write("run/run.json", "{}\n");
    EXPECT_NE(error_of(folder / "run").find("ranks"), std::string::npos);
    folder.write("run/run.json", R"({"ranks": 1})");
    EXPECT_NE(error_of(folder / "run").find("no provenance"), std::string::npos);
}

TEST(RecordedRun, RanksOfAnotherNumberAreOfAnotherScenario) {
    const TestFolder folder;
    write_made_up_run(folder, 2, 1.0);
    describe_again(folder, {});
    EXPECT_NE(error_of(folder / "run").find("of another scenario"), std::string::npos);
}

}  // namespace
}  // namespace orrery
