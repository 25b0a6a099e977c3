// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_waits.h"

#include <gtest/gtest.h>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

Answer slow_gpu_in(const std::vector<std::string>& settings, std::uint32_t gpu, double factor) {
    Scenario scenario = small_scenario("slow", settings);
    scenario.faults.processes = {{.name = "slow",
                                  .kind = FaultKind::slow_gpu,
                                  .at = {Scope::gpu, gpu},
                                  .once = WallTime{},
                                  .factor = factor}};
    const Result<Answer> answer = simulate_scenario(scenario);
    EXPECT_TRUE(answer);
    return *answer;
}

Time all_waits(const RankWait& wait) {
    Time sum;
    for (const Time part : wait.waits.of) {
        sum += part;
    }
    return sum;
}

TEST(StepWaits, OthersWaitForTheSlowRankAndItWaitsForNobody) {
    const Answer answer = slow_gpu_in({}, 3, 1.5);
    ASSERT_EQ(answer.rank_waits.size(), 2u);  // one axis: data parallel
    const RankWait& slow = answer.rank_waits[0];
    const RankWait& peer = answer.rank_waits[1];
    EXPECT_EQ(slow.relation, "slow_gpu");
    EXPECT_EQ(peer.relation, "dp neighbour");
    EXPECT_GT(slow.kernels / peer.kernels, 1.4);
    EXPECT_GT(peer.waits[Cause::exposed_data].seconds(),
              0.8 * (slow.kernels - peer.kernels).seconds());
    EXPECT_LT(all_waits(slow).seconds(), 0.05 * all_waits(peer).seconds());
    EXPECT_LT(answer.healthy_iteration, answer.iteration);
}

TEST(StepWaits, EachAxisHasANeighbour) {
    const Answer answer = slow_gpu_in(
        {"plan.tensor_model_parallel_size=2", "plan.pipeline_model_parallel_size=2"}, 5, 1.3);
    std::vector<std::string> relations;
    for (const RankWait& wait : answer.rank_waits) {
        relations.push_back(wait.relation);
    }
    EXPECT_EQ(relations,
              (std::vector<std::string>{
                  "slow_gpu", "tp neighbour", "dp neighbour", "pp neighbour", "no common group"}));
    EXPECT_GT(answer.rank_waits[1].waits[Cause::exposed_tensor], Time{});
}

TEST(StepWaits, WithoutFaultsNobodyIsWatched) {
    const Result<Answer> answer = simulate_scenario(small_scenario("healthy", {}));
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->rank_waits.empty());
    EXPECT_EQ(answer->healthy_iteration, Time{});
}

}  // namespace
}  // namespace orrery
