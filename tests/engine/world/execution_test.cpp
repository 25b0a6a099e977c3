// SPDX-License-Identifier: Apache-2.0
#include "engine/world/execution.h"

#include <gtest/gtest.h>

#include "tests/engine/small_plan.h"

namespace orrery {
namespace execution_test {

using namespace small_runs;

TEST(Execution, GoesOnFromOneEndToTheNext) {
    for (const bool folding : {false, true}) {
        SmallPlan small(folding);
        Execution execution(*small.plan, *small.rates);
        EXPECT_TRUE(execution.run_to_next_end());  // nothing to do
        execution.runs.start(0, 10_ns, 1);
        EXPECT_TRUE(execution.run_to_next_end());
        ASSERT_TRUE(execution.runs.any_ended());
        const Time once = execution.clock.instant - 10_ns;
        EXPECT_EQ(execution.runs.take_ended().end(), 10_ns + once);
        execution.runs.start(0, 10_ns + once, 2);
        EXPECT_TRUE(execution.run_to_next_end());
        EXPECT_EQ(execution.runs.num_left(), 0u);
        EXPECT_EQ(execution.runs.take_ended().end(), 10_ns + once * 3);
    }
}

}  // namespace execution_test
}  // namespace orrery
