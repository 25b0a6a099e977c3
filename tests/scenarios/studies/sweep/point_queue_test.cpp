// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/point_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace orrery {
namespace {

TEST(SharedMemoryQueue, IsSharedWithAForkedProcess) {
    SharedMemoryQueue queue{2};
    EXPECT_EQ(queue.next(), 0);
    EXPECT_EQ(queue.point_of(1), SharedMemoryQueue::kIdle);
    const pid_t child = fork();
    if (child == 0) {
        queue.point_of(1) = queue.next();
        _exit(0);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_EQ(queue.point_of(1), 1);
    EXPECT_EQ(queue.taken(), 2);
    EXPECT_EQ(queue.next(), 2);
}

}  // namespace
}  // namespace orrery
