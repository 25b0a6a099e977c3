// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/profile.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(ProfileCommand, AnErrorEndsItWithTheStatusOfOne) {
    const TestFolder folder;
    ProfileArguments arguments;
    arguments.spec = {.device = "tpu", .output = (folder / "p.csv").string()};
    const CommandRun run = run_command([&] { return profile_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("'tpu' is no kind of device"), std::string::npos) << run.err;
    EXPECT_EQ(run.out, "");
}

}  // namespace
}  // namespace orrery
