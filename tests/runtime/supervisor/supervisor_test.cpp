// SPDX-License-Identifier: Apache-2.0
// The supervisor with members of shell; with real ones: tests/program/supervised_training_test.cpp.
#include "runtime/supervisor/supervisor.h"

#include <gtest/gtest.h>

#include "tests/runtime/supervisor/shell_job.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(Supervisor, LetsAHealthyJobEnd) {
    const TestFolder folder;
    const auto run =
        supervise(job_of(folder, "tell training 0; tell step 1; tell step 2; tell done 2;"));
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_EQ(run->status, 0);
    EXPECT_TRUE(run->interruptions.empty());
}

TEST(Supervisor, ReplacesTheDeadByASpare) {
    const TestFolder folder;
    const std::string stepped = (folder / "stepped").string();  // by node 0
    const auto run =
        supervise(job_of(folder,
                         "tell training 0; tell step 1; if [ $node = 1 ]; then until test -e " +
                             stepped + "; do sleep 0.01; done; kill -9 $$; fi; touch " + stepped +
                             "; if [ $generation = 2 ]; then tell step 2; tell done 2;"
                             " else tell failed 0 1; fi;"));
    ASSERT_TRUE(run) << run.error().to_string();
    ASSERT_EQ(run->interruptions.size(), 1u);
    EXPECT_EQ(run->interruptions[0].step, 1);
    EXPECT_NE(to_text(run->log).find(
                  "  evict node:1\n  replace slot 1 by node:2\n  restart full from remote"),
              std::string::npos)
        << to_text(run->log);
}

TEST(Supervisor, CallsSomebodyWhenNothingHelps) {
    const TestFolder folder;
    SupervisedJob job = job_of(folder, "tell training 0; tell failed 0 -1 'a bug';");
    job.limits.attempts_max = 3;
    const auto run = supervise(job);
    ASSERT_FALSE(run);
    EXPECT_NE(run.error().what.find("again and again"), std::string::npos);
}

TEST(Supervisor, AProgramThatCannotStartIsAnError) {
    const TestFolder folder;
    SupervisedJob job = job_of(folder, "");
    job.command = {"false"};
    EXPECT_FALSE(supervise(job));
}

}  // namespace
}  // namespace orrery
