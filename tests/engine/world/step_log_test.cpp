// SPDX-License-Identifier: Apache-2.0
#include "engine/world/step_log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/small_runs.h"

namespace orrery {
namespace step_log_test {

using namespace small_runs;

TEST(StepLog, ReportsProgressUpToTheEnd) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(5_ns);
    b.kernel(5_ns, kNet);
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    std::vector<double> shares;
    input.progress = [&](double share) { shares.push_back(share); };
    run(input);
    ASSERT_FALSE(shares.empty());
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_DOUBLE_EQ(shares.back(), 1.0);
}

// Per rank: 5 ns of kernels, of which 3 are useful.
TEST(StepLog, CountsWhatAllRanksDoInTheLastStep) {
    ProgramBuilder b({{"dp", 4}, {"pp", 1}});
    b.kernel(5_ns, kCompute, {}, Cause::gemm_inefficiency, 3_ns);
    b.host(2_ns);
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    input.steps = 3;
    for (const bool trace : {false, true}) {
        if (!trace) {
            input.traced_ranks.clear();
        } else {
            input.traced_ranks = {RankId{2}, RankId{3}};
        }
        const SimulationResult result = run(input);
        EXPECT_EQ(result.busy_sum[Cause::useful_compute], 12_ns);
        EXPECT_EQ(result.busy_sum[Cause::gemm_inefficiency], 8_ns);
        EXPECT_EQ(result.busy_sum[Cause::host], 8_ns);
        EXPECT_EQ(result.trace.size(), trace ? 2u * 3u * 2u : 0u);
    }
}

}  // namespace step_log_test
}  // namespace orrery
