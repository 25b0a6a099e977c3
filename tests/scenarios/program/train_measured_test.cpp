// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/train.h"
#include "tests/scenarios/program/train_run.h"

namespace orrery {
namespace {

TEST(TrainMeasured, OneRankAloneReportsItsError) {
    ProcessWorld world;
    int status = kExitOk;
    EXPECT_TRUE(all_well(world, {}, status));
    EXPECT_EQ(status, kExitOk);
    bool well = true;
    const CommandRun run = run_command([&] {
        well = all_well(world, {{"here", "is wrong", ""}}, status);
        return status;
    });
    EXPECT_FALSE(well);
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_EQ(run.err, "here: error: is wrong\n");
}

}  // namespace
}  // namespace orrery
