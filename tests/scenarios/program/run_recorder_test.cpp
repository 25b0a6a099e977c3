// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/run_recorder.h"

#include <gtest/gtest.h>

#include "scenarios/program/compare.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/train.h"
#include "tests/scenarios/made_up_run.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TrainArguments training(const TestFolder& folder) {
    folder.write("text.txt", std::string(4096, 'x') + std::string(4096, 'y'));
    TrainArguments arguments;
    arguments.file = folder.write("s.yaml", made_up_scenario(1));
    arguments.quiet = true;
    return arguments;
}

// A real run: what it records is of its Program, and it says nothing if it is to be quiet.
TEST(RunRecorder, RecordsATrainingRunThatCanBeCompared) {
    const TestFolder folder;
    TrainArguments arguments = training(folder);
    arguments.record_folder = (folder / "run").string();
    arguments.trace_file = (folder / "trace").string();
    const CommandRun run = run_command([&] { return train_command(arguments); });
    ASSERT_EQ(run.status, kExitOk) << run.err;
    EXPECT_EQ(run.out, "");
    const auto recorded = read_recorded_run(folder / "run");
    ASSERT_TRUE(recorded) << recorded.error()[0].to_string();
    EXPECT_EQ(recorded->steps.size(), 5U);
    EXPECT_EQ(static_cast<std::int64_t>(recorded->steps[0].ops.size()), num_ops(recorded->program));
    EXPECT_NE(folder.text("trace").find("rank 0 (pp 0) measured"), std::string::npos);
    CompareArguments compare;
    compare.run = arguments.record_folder;
    EXPECT_EQ(run_command([&] { return compare_command(compare); }).status, kExitOk);
}

TEST(RunRecorder, KeepsNoRecordingThatNobodyWants) {
    const TestFolder folder;
    TrainArguments arguments = training(folder);
    arguments.trace_file = (folder / "trace").string();
    ASSERT_EQ(run_command([&] { return train_command(arguments); }).status, kExitOk);
    EXPECT_EQ(folder.num_files(), 3U);  // scenario, text, trace
}

TEST(RunRecorder, UnwritablePlacesAreErrorsBeforeTheRun) {
    const TestFolder folder;
    TrainArguments arguments = training(folder);
    arguments.record_folder = (folder / "text.txt/run").string();
    EXPECT_EQ(run_command([&] { return train_command(arguments); }).status, kExitUserError);
    arguments.record_folder = "";
    arguments.trace_file = (folder / "none/trace").string();
    EXPECT_EQ(run_command([&] { return train_command(arguments); }).status, kExitUserError);
}

}  // namespace
}  // namespace orrery
