// SPDX-License-Identifier: Apache-2.0
// What the supervisor sees by itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/supervisor/supervision.h"
#include "tests/runtime/supervisor/shell_job.h"

namespace orrery {
namespace {

TEST(Supervisor, FindsWhoHangs) {
    const TestFolder folder;
    const auto run = supervise(job_of(
        folder,
        "tell training 0; if [ $generation = 2 ]; then tell done 2;"
        "elif [ $rank = 0 ]; then tell beat 0 1 '9 1'; exec sleep 100; else exec sleep 100; fi;"));
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_NE(to_text(run->log).find("job_hang by progress_watchdog\n  diagnose"),
              std::string::npos);
    EXPECT_NE(to_text(run->log).find("evict node:1"), std::string::npos) << to_text(run->log);
}

// Two nodes are lost and there is one spare: the job waits for a repair and says so again and
// again.
TEST(Supervisor, SaysWhatItWaitsFor) {
    const TestFolder folder;
    SupervisedJob job = job_of(
        folder,
        "tell training 0; tell step 1; if [ $generation = 3 ]; then tell step 2; tell done 2;"
        "elif [ $rank = $((generation - 1)) ]; then kill -9 $$; else tell failed 0 -2; fi;");
    job.repair = std::chrono::milliseconds{1500};
    job.reminder = std::chrono::milliseconds{100};
    std::vector<std::string> lines;
    job.line = [&](const std::string& text) { lines.push_back(text); };
    const auto run = supervise(job);
    ASSERT_TRUE(run) << run.error().to_string();
    const auto says = [](const std::string& line) {
        return line.find("no spare is left for slot") != std::string::npos &&
               line.find("is expected back in") != std::string::npos;
    };
    EXPECT_GE(std::ranges::count_if(lines, says), 2);
    EXPECT_NE(to_text(run->log).find("  wait\n"), std::string::npos) << to_text(run->log);
}

}  // namespace
}  // namespace orrery
