// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/interruption.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(Interruption, TheFirstSignalEndsTheWorkAndSaysWhatFollows) {
    Interruption interruption;
    kill(getpid(), SIGINT);
    bool come = false;
    const CommandRun run = run_command([&] {
        come = interruption.come();
        return 0;
    });
    EXPECT_TRUE(come);
    EXPECT_NE(run.err.find("the best so far follows"), std::string::npos) << run.err;
    EXPECT_TRUE(interruption.come());
}

}  // namespace
}  // namespace orrery
