// SPDX-License-Identifier: Apache-2.0
// What the supervisor sees by itself.
#include <gtest/gtest.h>

#include "runtime/supervisor/supervision.h"
#include "tests/runtime/supervisor/shell_job.h"

namespace orrery {
namespace {

TEST(Supervisor, FindsWhoHangs) {
    const TemporaryFolder folder;
    const auto run = supervise(job_of(
        folder,
        "tell training 0; if [ $generation = 2 ]; then tell done 2;"
        "elif [ $rank = 0 ]; then tell beat 0 1 '9 1'; exec sleep 100; else exec sleep 100; fi;"));
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_NE(run->log.find("job_hang by progress_watchdog\n  diagnose"), std::string::npos);
    EXPECT_NE(run->log.find("evict node:1"), std::string::npos) << run->log;
}

}  // namespace
}  // namespace orrery
