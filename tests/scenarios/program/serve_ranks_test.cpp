// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/serve_ranks.h"

#include <gtest/gtest.h>

#include <csignal>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

// The ranks are this test program itself, which knows no such command line and ends.
TEST(ServeRanks, TheStatusOfTheRanksIsTheCommands) {
    ServeArguments arguments;
    arguments.file = "/no/such/file.yaml";
    const CommandRun run = run_command([&] { return start_serving_ranks(arguments, 2); });
    EXPECT_GE(run.status, 0);
    EXPECT_LT(run.status, 128 + SIGRTMAX);
}

}  // namespace
}  // namespace orrery
