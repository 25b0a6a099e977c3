// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_network.h"

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(StepNetwork, HasPacketsWhereTheyAreAskedForAndCanBeHeldUp) {
    Scenario scenario = small_scenario("small", {"plan.pipeline_model_parallel_size=2"});
    const auto fluid = build_step_network(scenario, {}, std::nullopt);
    ASSERT_TRUE(fluid) << fluid.error().to_string();
    EXPECT_FALSE(fluid->packets);
    EXPECT_EQ(&fluid->model(), fluid->nccl.get());
    EXPECT_TRUE(fluid->model().has_contention());
    scenario.network = NetworkFidelity::packet;
    const auto packets = build_step_network(scenario, {}, std::nullopt);
    ASSERT_TRUE(packets) << packets.error().to_string();
    ASSERT_TRUE(packets->packets);
    EXPECT_EQ(&packets->model(), packets->packets.get());
    const auto never_full = build_step_network(scenario, {}, Cause::network_contention);
    ASSERT_TRUE(never_full);
    EXPECT_FALSE(never_full->packets);
    EXPECT_FALSE(never_full->model().has_contention());
}

}  // namespace
}  // namespace orrery
