// SPDX-License-Identifier: Apache-2.0
// Supervised runs that train: tests/program/supervised_training_test.cpp.
#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/train.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(TrainSupervised, TellsAllThatItCannotDoAtOnce) {
    TrainArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/drill-cpu-4.yaml";
    arguments.supervise = true;
    arguments.overrides = {"job.drill=false", "recovery.policies=[reroute]"};
    const CommandRun run = run_command([&] { return train_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("not marked as a drill"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("reroute"), std::string::npos) << run.err;
}

TEST(TrainSupervised, DoesNotOverwriteAnEarlierRunUnasked) {
    const TestFolder folder;
    std::filesystem::create_directories(folder / "run/step-000010");
    TrainArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/drill-cpu-4.yaml";
    arguments.supervise = true;
    arguments.overrides = {"job.checkpoint_folder=" + (folder / "run").string()};
    const CommandRun run = run_command([&] { return train_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("up to step-000010 of an earlier run"), std::string::npos) << run.err;
    EXPECT_TRUE(std::filesystem::exists(folder / "run/step-000010"));
}

}  // namespace
}  // namespace orrery
