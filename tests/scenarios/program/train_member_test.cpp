// SPDX-License-Identifier: Apache-2.0
// Members that train: tests/program/supervised_training_test.cpp.
#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/train.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(TrainMember, WithoutASupervisorItDoesNotTrain) {
    TrainArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/drill-cpu-4.yaml";
    const CommandRun run = run_command([&] { return train_member(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("--supervise"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
