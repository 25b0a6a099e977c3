// SPDX-License-Identifier: Apache-2.0
// What it prints is tested with the comparison:
// tests/scenarios/studies/measure/run_comparison_test.cpp.
#include "scenarios/program/compare.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(CompareCommand, AFolderWithoutARunIsAnError) {
    CompareArguments arguments;
    arguments.run = "/nowhere/run";
    const CommandRun run = run_command([&] { return compare_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_TRUE(run.err.starts_with("/nowhere/run")) << run.err;
}

}  // namespace
}  // namespace orrery
