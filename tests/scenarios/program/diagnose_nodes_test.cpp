// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/diagnose.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

// That the checks run between real processes is tested with the whole program (schemas_test.py).
TEST(DiagnoseNodes, OneProcessHasNoOtherToTalkTo) {
    DiagnoseArguments arguments;
    arguments.what = ORRERY_SOURCE_DIR "/scenarios/drill-cpu-4.yaml";
    const CommandRun run = run_command([&] { return check_as_rank(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("--nproc: error: one process has no other"), std::string::npos)
        << run.err;
}

}  // namespace
}  // namespace orrery
