// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/stage_prices.h"

#include <gtest/gtest.h>

#include "models/plan/rank_mesh.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

// Two servers of four GPUs.
class StagePricesTest : public ::testing::Test {
protected:
    StagePrices prices(const ParallelPlan& plan) const {
        return {timed_.costs->network(), rank_mesh(plan)};
    }

    Scenario scenario_ = small_scenario("prices", {});
    testing::TimedPlans timed_{scenario_};
};

TEST_F(StagePricesTest, AMessageTakesWhatItsPlanTakes) {
    StagePrices pairs = prices({.pipeline_model_parallel_size = 2, .data_parallel_size = 4});
    const std::uint32_t axis =
        rank_mesh({.pipeline_model_parallel_size = 2, .data_parallel_size = 4}).digit("pp");
    const auto one = pairs.send(axis, 1, Bytes{1 << 20}, 0);
    ASSERT_TRUE(one);
    const TransferPlan plan =
        timed_.costs->network().plan(SendCall{Bytes{1 << 20}}, std::array{RankId{0}, RankId{4}});
    EXPECT_GT(one->alone, plan.phases[0].latency);
    EXPECT_EQ(one->sms, plan.sms);
}

TEST_F(StagePricesTest, ARingOverTwoServersHasHopsThatDiffer) {
    const ParallelPlan plan{.context_parallel_size = 8};
    StagePrices ring = prices(plan);
    EXPECT_FALSE(ring.send(rank_mesh(plan).digit("cp"), 1, Bytes{1 << 20}, -1));
    const ParallelPlan inside{.context_parallel_size = 4, .data_parallel_size = 2};
    StagePrices rings = prices(inside);
    EXPECT_TRUE(rings.send(rank_mesh(inside).digit("cp"), 1, Bytes{1 << 20}, -1));
}

TEST_F(StagePricesTest, AGroupOfOneTakesNoTime) {
    const ParallelPlan plan{.data_parallel_size = 8};
    StagePrices alone = prices(plan);
    const Group group{.digits = 1U << rank_mesh(plan).digit("tp")};
    const auto price = alone.collective({.bytes = Bytes{1 << 20}}, group);
    ASSERT_TRUE(price);
    EXPECT_EQ(price->alone, Time{});
}

}  // namespace
}  // namespace orrery
