// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/predicted_run.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "scenarios/studies/simulate/program_order.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/made_up_run.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

// Every rank's ops once, in order, and the answer is that of simulate_scenario().
TEST(PredictedRun, HasEveryOpOfEveryRank) {
    const Scenario scenario = small_scenario("s", {"plan.tensor_model_parallel_size=2"});
    const auto run = predict_run(scenario, "");
    ASSERT_TRUE(run) << run.error().to_string();
    const Program program = lower(scenario.model, scenario.plan);
    EXPECT_EQ(run->ops.size(), static_cast<std::size_t>(num_ops(program)));
    EXPECT_EQ(run->answer.iteration, simulate_scenario(scenario)->iteration);
    for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
        for (const TracedOp& op : run->of_rank(RankId{r})) {
            EXPECT_EQ(op.rank, RankId{r});
            EXPECT_GE(op.start, Time{});
            EXPECT_LE(op.start, op.data_start);
            EXPECT_LE(op.data_start, op.end);
        }
    }
    EXPECT_EQ(run->host_per_op, Time{});  // a GPU's host runs ahead
}

// On a CPU nothing overlaps: a rank's ops and the host's time are the step.
TEST(PredictedRun, OfACpuIsOneOpAfterTheOther) {
    const TestFolder folder;
    folder.write("text.txt", std::string(4096, 'x'));
    const auto scenario = read_scenario(folder.write("s.yaml", made_up_scenario(1)));
    ASSERT_TRUE(scenario);
    const auto run = predict_run(*scenario, "");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->host_per_op, scenario->device.launch_cost);
    Time sum;
    for (const TracedOp& op : run->ops) {
        EXPECT_EQ(op.start, sum);
        sum += op.end - op.start;
    }
    EXPECT_EQ(sum, run->answer.iteration);
    EXPECT_GT(run->tensor_memory, Bytes{});
}

}  // namespace
}  // namespace orrery
