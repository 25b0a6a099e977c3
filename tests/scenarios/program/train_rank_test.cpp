// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "scenarios/program/train.h"
#include "tests/scenarios/program/train_run.h"

namespace orrery {
namespace {

// The signal waits until the training asks for it. That it saves what is trained is tested in
// tests/runtime/checkpoint_on_signal_test.cpp and with the whole program.
TEST(TrainRank, EndsAfterASignalWithItsStatus) {
    const TestFolder folder;
    folder.write("text.txt", text());
    sigset_t set;
    sigset_t before;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    kill(getpid(), SIGTERM);
    const CommandRun run =
        train(folder, kScenario, {"job.checkpoint_folder=" + (folder / "ck").string()});
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(run.status, kExitSignal + SIGTERM) << run.err;
    EXPECT_NE(run.out.find("stopped after step 0 by signal 15"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace orrery
