// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/stage_process.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

using std::chrono::milliseconds;

struct RunStage {
    StageEnd end;
    std::string output;
};

RunStage shell(const std::string& text,
               milliseconds limit = milliseconds{60'000},
               milliseconds quiet = milliseconds{60'000}) {
    RunStage run;
    const auto end = run_stage({.words = {"sh", "-c", text},
                                .environment = {{"ORRERY_TEST_WORD", "from here"}},
                                .limit = limit,
                                .quiet_limit = quiet},
                               [&](const std::string& part) { run.output += part; });
    EXPECT_TRUE(end) << end.error().to_string();
    run.end = *end;
    return run;
}

TEST(StageProcess, HasItsOutputAndItsEndKnown) {
    const RunStage good = shell("echo \"$ORRERY_TEST_WORD\"; echo error >&2; printf unfinished");
    EXPECT_TRUE(good.end.ok());
    EXPECT_EQ(good.output, "from here\nerror\nunfinished");
    EXPECT_EQ(good.end.words(), "ended well");
    const RunStage bad = shell("exit 3");
    EXPECT_FALSE(bad.end.ok());
    EXPECT_EQ(bad.end.words(), "ended with status 3");
    const RunStage crashed = shell("echo before; kill -SEGV $$");
    EXPECT_EQ(crashed.output, "before\n");
    EXPECT_EQ(crashed.end.words(), "was ended by signal 11");
    const auto none = run_stage({.words = {"/no/such/program"}}, [](const std::string&) {});
    ASSERT_TRUE(none);
    EXPECT_EQ(none->status, 127);
}

TEST(StageProcess, EndsWithItsLimitsAndAllThatItStarted) {
    const TestFolder folder;
    const std::string pid = (folder.path() / "pid").string();
    const RunStage slow =
        shell("sleep 600 & echo $! > '" + pid + "'; echo begun; wait", milliseconds{200});
    EXPECT_TRUE(slow.end.timed_out);
    EXPECT_EQ(slow.output, "begun\n");
    EXPECT_NE(slow.end.words().find("had not ended after"), std::string::npos);
    // The process that it started is gone, or a dead one that waits to be collected.
    EXPECT_TRUE(shell("s=$(sed 's/.*) //; s/ .*//' /proc/$(cat '" + pid +
                      "')/stat 2>/dev/null); [ -z \"$s\" ] || [ \"$s\" = Z ]")
                    .end.ok());
    const RunStage quiet =
        shell("echo a; echo b; sleep 600", milliseconds{60'000}, milliseconds{200});
    EXPECT_TRUE(quiet.end.timed_out);
    EXPECT_EQ(quiet.output, "a\nb\n");
}

TEST(StageProcess, IsNotHeldUpByWhatOutlivesIt) {
    const RunStage run = shell("sleep 600 & echo done");
    EXPECT_TRUE(run.end.ok());
    EXPECT_EQ(run.output, "done\n");
}

}  // namespace
}  // namespace orrery
