// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/launcher.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace orrery {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

LaunchOptions shell(std::uint32_t num_processes, const std::string& script) {
    return {.num_processes = num_processes, .command = {"sh", "-c", script}};
}

TEST(Launcher, EveryProcessKnowsWhoItIs) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("orrery-launcher-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const Result<int> status =
        launch_processes(shell(3,
                               "echo $WORLD_SIZE > " + folder.string() +
                                   "/$RANK; expr \"$ORRERY_STORE\" : tcp:127.0.0.1:"));
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 0);
    for (const char* rank : {"0", "1", "2"}) {
        std::ifstream file{folder / rank};
        std::string size;
        file >> size;
        EXPECT_EQ(size, "3");
    }
    std::filesystem::remove_all(folder);
}

TEST(Launcher, OneFailureEndsAllWithItsStatus) {
    const Result<int> status =
        launch_processes(shell(3, "if [ $RANK = 1 ]; then exit 7; fi; exec sleep infinity"));
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 7);
}

TEST(Launcher, AKilledProcessIsAFailure) {
    const Result<int> status =
        launch_processes(shell(2, "if [ $RANK = 0 ]; then kill -9 $$; fi; exec sleep infinity"));
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 128 + SIGKILL);
}

// One that a signal ends is why another gives up, though the other is seen first.
TEST(Launcher, AKilledProcessTellsMoreThanOneThatGivesUp) {
    const Result<int> status = launch_processes(shell(
        2, "if [ $RANK = 0 ]; then sleep 0.3; exit 3; fi; trap '' TERM; sleep 0.8; kill -9 $$"));
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 128 + SIGKILL);
}

TEST(Launcher, WhoDoesNotListenIsMadeToEnd) {
    LaunchOptions options = shell(
        2,
        "if [ $RANK = 0 ]; then sleep 0.3; exit 3; fi; trap '' TERM; while :; do sleep 0.1; done");
    options.grace = milliseconds{200};
    const Result<int> status = launch_processes(options);
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 3);
}

TEST(Launcher, AnInterruptReachesAll) {
    // Blocked before the thread is made, which inherits that: only the launcher takes it.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread interrupt{[] {
        std::this_thread::sleep_for(milliseconds{300});
        kill(getpid(), SIGINT);
    }};
    const Result<int> status = launch_processes(shell(2, "exec sleep 60"));
    interrupt.join();
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 128 + SIGINT);
}

// The first signal leaves time for a checkpoint, the second one none.
TEST(Launcher, ASecondInterruptEndsThoseThatDoNotListen) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread interrupt{[] {
        for (int i = 0; i < 2; ++i) {
            std::this_thread::sleep_for(milliseconds{400});
            kill(getpid(), SIGINT);
        }
    }};
    LaunchOptions options = shell(2, "trap '' TERM; while :; do sleep 0.1; done");
    options.stop_grace = std::chrono::hours{1};
    const Result<int> status = launch_processes(options);
    interrupt.join();
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 128 + SIGINT);
}

TEST(Launcher, AProgramThatIsNotThereAndNoProcessesAreErrors) {
    const Result<int> missing =
        launch_processes({.num_processes = 2, .command = {"/no/such/program"}});
    ASSERT_TRUE(missing);
    EXPECT_EQ(*missing, 127);
    EXPECT_FALSE(launch_processes({.num_processes = 0, .command = {"true"}}));
    EXPECT_FALSE(launch_processes({.num_processes = 1, .command = {}}));
}

}  // namespace
}  // namespace orrery
