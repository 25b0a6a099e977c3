// SPDX-License-Identifier: Apache-2.0
#include "engine/execution_plan.h"

#include <gtest/gtest.h>

#include "tests/engine/small_plan.h"

namespace orrery {
namespace execution_plan_test {

using namespace small_runs;

TEST(ExecutionPlan, FindsTheChannelsAndRunsOfARankClass) {
    const SmallPlan small;
    const ExecutionPlan& plan = *small.plan;
    ASSERT_EQ(plan.quotient.ranks.size(), 4u);
    const std::vector<RoleChannel>& channels = plan.tapes.roles[0].channels;
    for (std::uint32_t c = 0; c < channels.size(); ++c) {
        // The members of a group meet on one channel; each rank has a channel to its peer.
        EXPECT_EQ(plan.channel_of(0, c) == plan.channel_of(1, c), channels[c].is_collective);
    }
    EXPECT_EQ(plan.run(0, plan.tapes.roles[1].streams[kCompute].items[0].shape).duration, 5_ns);
    EXPECT_EQ(plan.party_of_role, (std::vector{0u, 0u}));
}

TEST(ExecutionPlan, FoldsRanksThatBehaveAlike) {
    const SmallPlan folded(true);
    EXPECT_EQ(folded.plan->quotient.ranks.size(), 2u);
}

}  // namespace execution_plan_test
}  // namespace orrery
