// SPDX-License-Identifier: Apache-2.0
// What is ordered before a restart: all members are tested, and say how long they took to meet.
#include <gtest/gtest.h>

#include "runtime/supervisor/supervision.h"
#include "tests/runtime/supervisor/shell_job.h"

namespace orrery {
namespace {

SupervisedJob checked_job_of(const TestFolder& folder, const std::string& on_check) {
    SupervisedJob job = job_of(folder, "");
    job.command = shell_member(
        "tell training 0 1500; if [ $generation = 1 ]; then tell failed 0 -1 'a bug';"
        "else tell step 1; tell step 2; tell done 2; fi;",
        on_check);
    job.policies = {PreflightCheck{}, HotSpares{}};
    job.patience = std::chrono::milliseconds{2000};
    return job;
}

TEST(Supervisor, HasAllMembersTestedBeforeTheyTrainAgain) {
    const TestFolder folder;
    SupervisedJob job = checked_job_of(folder, "tell checked;");
    job.predicted_meeting_s = [](std::uint32_t processes) { return 1e-3 * processes; };
    const auto run = supervise(job);
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_NE(to_text(run->log).find("  check\n"), std::string::npos) << to_text(run->log);
    EXPECT_EQ(to_text(run->log).find("evict"), std::string::npos) << to_text(run->log);
    // What the members say of their meeting stands beside what was expected.
    ASSERT_FALSE(run->starts.empty());
    EXPECT_EQ(run->starts.back().ranks, 2u);
    EXPECT_DOUBLE_EQ(run->starts.back().meeting_s, 1.5e-3);
    EXPECT_DOUBLE_EQ(run->starts.back().predicted_meeting_s, 2e-3);
    EXPECT_GT(run->starts.back().processes_s, 0);
}

TEST(Supervisor, WhoIsSlowInTheTestsIsReplacedAndTheNewOneTested) {
    const TestFolder folder;
    const auto run = supervise(
        checked_job_of(folder,
                       "if [ $generation = 2 ]; then tell checked 0 0 '1 it is slow;'; else tell "
                       "checked; fi;"));
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_NE(to_text(run->log).find(
                  "slow node:1\n  evict node:1\n  replace slot 1 by node:2\n  check\n"),
              std::string::npos)
        << to_text(run->log);
}

TEST(Supervisor, WhoDiesInTheTestsIsReplaced) {
    const TestFolder folder;
    const auto run = supervise(checked_job_of(
        folder,
        "if [ $generation = 2 ] && [ $node = 0 ]; then kill -9 $$; fi;"
        "if [ $generation = 2 ]; then tell failed 0 0 'rank 0 is gone'; else tell checked; fi;"));
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_NE(to_text(run->log).find("evict node:0\n  replace slot 0 by node:2\n  check\n"),
              std::string::npos)
        << to_text(run->log);
}

// It computes for ever, and the other one waits for it.
TEST(Supervisor, WhoHangsInTheTestsIsReplaced) {
    const TestFolder folder;
    const auto run = supervise(checked_job_of(
        folder,
        "if [ $generation = 2 ]; then if [ $rank = 0 ]; then tell beat 0 1 '9 1'; fi;"
        "exec sleep 100; fi; tell checked;"));
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_NE(to_text(run->log).find("evict node:1\n  replace slot 1 by node:2\n  check\n"),
              std::string::npos)
        << to_text(run->log);
}

// The last report of a node on a dead machine may say that the node waits for another one. Then the
// supervisor accuses neither, and the processes of the dead node do not get ready again.
TEST(Supervisor, ANodeThatIsOutOfReachIsReplaced) {
    const TestFolder folder;
    const std::string gone = (folder / "gone").string();
    SupervisedJob job =
        job_of(folder,
               "tell training 0; tell step 1; if [ $generation = 1 ]; then touch " + gone +
                   "; tell failed 0 -1 'a bug'; else tell step 2; tell done 2; fi;");
    const std::vector<std::string> up{"sh", "-c"};
    const std::vector<std::string> dies{
        "sh", "-c", "test -e " + gone + " && exit 1; exec sh -c \"$0\""};
    job.places = {.of_node = {up, dies, up}, .address = "127.0.0.1"};
    const auto run = supervise(job);
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_EQ(run->status, 0);
    EXPECT_NE(to_text(run->log).find("  evict node:1\n  replace slot 1 by node:2\n"),
              std::string::npos)
        << to_text(run->log);
}

}  // namespace
}  // namespace orrery
