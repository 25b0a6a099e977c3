// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/calibrate.h"

#include "kernels/profile.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/made_up_run.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

CommandRun calibrate(const TestFolder& folder, const std::vector<std::string>& runs) {
    CalibrateArguments arguments;
    arguments.output = (folder / "p.csv").string();
    for (const std::string& run : runs) {
        arguments.runs.push_back((folder / run).string());
    }
    return run_command([&] { return calibrate_command(arguments); });
}

TEST(CalibrateCommand, WritesAProfileThatCanBeReadBack) {
    const TestFolder folder;
    write_made_up_run(folder, 2, 1.0);
    const CommandRun run = calibrate(folder, {"run"});
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find("of 1 run\n"), std::string::npos) << run.out;
    const auto profile = read_machine_profile((folder / "p.csv").string());
    ASSERT_TRUE(profile) << profile.error()[0].to_string();
    EXPECT_FALSE(profile->kernels.empty());
    EXPECT_FALSE(profile->transfers.empty());
    EXPECT_EQ(profile->hosts.size(), 2U);
}

TEST(CalibrateCommand, LeavesNoFileWhereARunIsMissing) {
    const TestFolder folder;
    write_made_up_run(folder, 1, 1.0);
    const CommandRun run = calibrate(folder, {"run", "none"});
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("no recorded run"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder / "p.csv"));
}

}  // namespace
}  // namespace orrery
