// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/worker_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(WorkerProcesses, DoEveryPointOnce) {
    const TestFolder folder;
    std::int64_t told = 0;
    const auto crashed = run_workers(
        3,
        40,
        [&](std::uint32_t, std::int64_t point) -> Result<void> {
            // Fails where another process made it.
            if (!std::filesystem::create_directory(folder / std::to_string(point))) {
                return fail("", "twice");
            }
            return {};
        },
        [&](std::int64_t done) { told = std::max(told, done); });
    ASSERT_TRUE(crashed);
    EXPECT_TRUE(crashed->empty());
    EXPECT_EQ(folder.num_files(), 40u);
    EXPECT_LE(told, 40);
}

TEST(WorkerProcesses, APointThatEndsItsProcessTakesNoOtherWithIt) {
    const TestFolder folder;
    const auto crashed = run_workers(
        2,
        20,
        [&](std::uint32_t, std::int64_t point) -> Result<void> {
            if (point == 7 || point == 11) {
                kill(getpid(), SIGKILL);
            }
            folder.write(std::to_string(point), "");
            return {};
        },
        [](std::int64_t) {});
    ASSERT_TRUE(crashed) << crashed.error().to_string();
    ASSERT_EQ(crashed->size(), 2u);
    EXPECT_EQ((*crashed)[0].point + (*crashed)[1].point, 18);
    EXPECT_EQ((*crashed)[0].signal, SIGKILL);
    EXPECT_EQ(folder.num_files(), 18u);
}

TEST(WorkerProcesses, AnErrorOfOneStopsAll) {
    testing::internal::CaptureStderr();
    const auto crashed = run_workers(
        2,
        1'000'000'000,
        [](std::uint32_t, std::int64_t point) -> Result<void> {
            if (point == 5) {
                return fail("disk", "is full");
            }
            return {};
        },
        [](std::int64_t) {});
    EXPECT_FALSE(crashed);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("disk: error: is full"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery
