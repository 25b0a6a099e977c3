// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/exit_status.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(ExitStatus, ErrorsAreLinesOnStandardErrorAndStatusTwo) {
    const CommandRun run = run_command([] {
        return report_errors({{"a.yaml:1:2", "is wrong", "make it right"}, {"b", "is odd", {}}});
    });
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err, "a.yaml:1:2: error: is wrong (hint: make it right)\nb: error: is odd\n");
}

TEST(ExitStatus, AFloodOfErrorsIsCutAndCounted) {
    const CommandRun run = run_command([] {
        return report_errors(Errors(1'000, Error{"a", "is wrong", {}}));
    });
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 201);
    EXPECT_TRUE(run.err.ends_with("\nand 800 more errors\n"));
}

TEST(ExitStatus, OutputThatArrivesIsAGoodEnd) {
    const CommandRun run = run_command([] { return print_output("text\n"); });
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(run.out, "text\n");
    EXPECT_EQ(run.err, "");
}

}  // namespace
}  // namespace orrery
