// SPDX-License-Identifier: Apache-2.0
#include "engine/party_runs.h"

#include <gtest/gtest.h>

#include "engine/execution.h"
#include "tests/engine/small_plan.h"

namespace orrery {
namespace party_runs_test {

using namespace small_runs;

TEST(PartyRuns, CountTheStepsOfARun) {
    SmallPlan small;
    Execution execution(*small.plan, *small.rates);
    PartyRuns& runs = execution.runs;
    EXPECT_EQ(runs.next_start(), Time::max());
    runs.start(0, 4_ns, 3);
    EXPECT_EQ(runs.next_start(), 4_ns);
    EXPECT_EQ(runs.num_left(), 1u);
    ASSERT_TRUE(execution.run_to_next_end());
    EXPECT_EQ(runs.next_start(), Time::max());
    EXPECT_EQ(runs.num_left(), 0u);
    const RunEnd end = runs.take_ended();
    EXPECT_FALSE(runs.any_ended());
    EXPECT_EQ(end.start, 4_ns);
    ASSERT_EQ(end.steps.size(), 3u);
    for (std::size_t step = 0; step < 3; ++step) {
        EXPECT_TRUE(end.steps[step].reached);
        EXPECT_EQ(end.steps[step].path.total(), end.steps[step].time);
    }
    // All ranks end a step with the same collective: the steps are alike.
    const Time step = end.steps[0].time - 4_ns;
    EXPECT_GT(step, Time{});
    EXPECT_EQ(end.end(), 4_ns + step * 3);
}

TEST(PartyRuns, ARankThatWasLostBetweenRunsNeverBegins) {
    SmallPlan small;
    Execution execution(*small.plan, *small.rates);
    execution.state.ranks[1].lost = true;
    execution.runs.start(0, Time{}, 1);
    EXPECT_FALSE(execution.run_to_next_end());
    EXPECT_EQ(execution.runs.num_left(), 1u);
}

}  // namespace party_runs_test
}  // namespace orrery
