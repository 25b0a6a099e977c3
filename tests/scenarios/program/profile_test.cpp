// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/profile.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/scenarios/test_folder.h"

namespace orrery {
namespace {

void expect_error(const ProfileArguments& arguments, const std::string& message) {
    const CommandRun run = run_command([&] { return profile_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
}

// What it measures is tested with the whole program (tests/program): it starts itself again.
TEST(ProfileCommand, TellsWhatIsWrong) {
    const TestFolder folder;
    ProfileArguments arguments;
    arguments.output = (folder / "p.csv").string();
    arguments.device = "tpu";
    expect_error(arguments, "'tpu' is no kind of device");
    arguments.device = "cuda";
    expect_error(arguments, "no CUDA device");
    arguments.device = "cpu";
    arguments.scenario = (folder / "none.yaml").string();
    expect_error(arguments, "none.yaml");
    arguments.output = (folder / "none/p.csv").string();
    expect_error(arguments, "none/p.csv");
    EXPECT_EQ(folder.num_files(), 0U);
}

}  // namespace
}  // namespace orrery
