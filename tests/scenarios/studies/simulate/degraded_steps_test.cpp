// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/degraded_steps.h"

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(JobShapeOfAScenario, FollowsTheOrderOfRanks) {
    // 2 nodes of 4 GPUs.
    const Scenario data = small_scenario("dp", {});
    EXPECT_EQ(job_shape(data), (JobShape{.slots = 2, .units = 2, .unit_major = false}));
    const Scenario stages = small_scenario("pp", {"plan.pipeline_model_parallel_size=2"});
    // Stage 0 is node 0: without it there is no job.
    EXPECT_EQ(job_shape(stages).units, 1u);
    const Scenario inside = small_scenario(
        "pp", {"plan.pipeline_model_parallel_size=4", "plan.rank_order=tp-cp-pp-dp"});
    EXPECT_EQ(job_shape(inside).units, 2u);
    EXPECT_TRUE(job_shape(inside).unit_major);
    const Scenario sharded = small_scenario("zero", {"plan.data_parallel_sharding_strategy=optim"});
    EXPECT_TRUE(job_shape(sharded).state_sharded);
}

// Six replicas on two nodes of four GPUs: no two parts of the job are alike.
TEST(JobShapeOfAScenario, OfAPartlyFilledNodeHasNoUnits) {
    const Scenario uneven = small_scenario(
        "dp", {"cluster.gpus=6", "plan.rank_order=tp-cp-pp-dp", "plan.global_batch_size=24"});
    EXPECT_EQ(job_shape(uneven).slots, 2u);
    EXPECT_EQ(job_shape(uneven).units, 1u);
    const Result<DegradedSteps> steps = degraded_steps(uneven, {.slow = true, .shrunk = true});
    ASSERT_TRUE(steps) << steps.error().to_string();
    EXPECT_EQ(steps->speed.shrunk.at(1), 0);
}

TEST(DegradedSteps, AreSimulated) {
    const Scenario scenario = small_scenario("dp", {});
    const Result<DegradedSteps> steps = degraded_steps(scenario, {.slow = true, .shrunk = true});
    ASSERT_TRUE(steps) << steps.error().to_string();
    EXPECT_TRUE(steps->simulated);
    EXPECT_GT(steps->mfu, 0);
    // Everybody waits for the slow node's gradients, but communication is not slower.
    EXPECT_GT(steps->speed.slow_slope, 0.5);
    EXPECT_LE(steps->speed.slow_slope, 1.001);
    // Half the job: no network to cross any more.
    ASSERT_EQ(steps->speed.shrunk.size(), 2u);
    EXPECT_GE(steps->speed.shrunk[1], 0.5);
    EXPECT_LT(steps->speed.shrunk[1], 1);
}

TEST(DegradedSteps, AGivenStepIsNotSimulated) {
    Scenario scenario = small_scenario("dp", {});
    scenario.campaign.step_time = WallTime::seconds(3);
    const Result<DegradedSteps> steps = degraded_steps(scenario, {.slow = true, .shrunk = true});
    ASSERT_TRUE(steps);
    EXPECT_FALSE(steps->simulated);
    EXPECT_EQ(steps->speed.step, WallTime::seconds(3));
    EXPECT_EQ(steps->speed.shrunk, (std::vector<double>{1.0, 0.5}));
}

}  // namespace
}  // namespace orrery
