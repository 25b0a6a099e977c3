// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/sweep.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

SweepOutcome outcome_of(const std::vector<std::string>& errors) {
    SweepOutcome outcome;
    for (const std::string& error : errors) {
        PointResult point;
        point.error = error;
        outcome.results.push_back(point);
    }
    return outcome;
}

TEST(SweepOutcome, WithoutAnAnswerEachMistakeIsToldOnce) {
    const SweepOutcome outcome = outcome_of({"x is wrong", "x is wrong"});
    EXPECT_TRUE(no_answers(outcome));
    EXPECT_FALSE(no_answers(outcome_of({})));
    EXPECT_FALSE(no_answers(outcome_of({"x is wrong", ""})));
    const CommandRun run = run_command([&] { return show_outcome({}, {}, outcome); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_EQ(run.err,
              "error: x is wrong\nerror: no point of the study has an answer (hint: see above)\n");
}

}  // namespace
}  // namespace orrery
