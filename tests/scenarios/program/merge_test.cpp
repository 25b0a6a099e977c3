// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/merge.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

// Joining the shards of a sweep is tested with the sweep (sweep_test.cpp).
TEST(MergeCommand, ReportsWhatIsNoFileOfResults) {
    const TestFolder folder;
    const std::string text = folder.write("text.sqlite", "no database");
    const CommandRun run = run_command([&] {
        return merge_command({.files = {text}, .results = (folder / "all.sqlite").string()});
    });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("text.sqlite"), std::string::npos) << run.err;
    EXPECT_EQ(run.out, "");
}

}  // namespace
}  // namespace orrery
