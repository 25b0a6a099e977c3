// SPDX-License-Identifier: Apache-2.0
#include "engine/world/execution_plan.h"

#include <gtest/gtest.h>

#include "tests/engine/small_plan.h"

namespace orrery {
namespace execution_plan_test {

using namespace small_runs;

TEST(ExecutionPlan, FindsTheConnectionsAndRunsOfARankClass) {
    const SmallPlan small;
    const ExecutionPlan& plan = *small.plan;
    ASSERT_EQ(plan.quotient.ranks.size(), 4u);
    const std::vector<RoleConnection>& connections = plan.tapes.roles[0].connections;
    for (std::uint32_t c = 0; c < connections.size(); ++c) {
        // The members of a group meet on one connection; each rank has a connection to its peer.
        EXPECT_EQ(plan.connection_of(RankClassId{0}, c) == plan.connection_of(RankClassId{1}, c),
                  connections[c].kind == ConnectionKind::group);
    }
    EXPECT_EQ(plan.run(RankClassId{0}, 0, plan.tapes.roles[1].streams[kCompute].items[0]).duration,
              5_ns);
    EXPECT_EQ(plan.job_of_role, (std::vector{0u, 0u}));
}

TEST(ExecutionPlan, FoldsRanksThatBehaveAlike) {
    const SmallPlan folded(true);
    EXPECT_EQ(folded.plan->quotient.ranks.size(), 2u);
}

}  // namespace execution_plan_test
}  // namespace orrery
