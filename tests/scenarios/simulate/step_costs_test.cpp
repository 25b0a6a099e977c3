// SPDX-License-Identifier: Apache-2.0
#include "scenarios/simulate/step_costs.h"

#include <gtest/gtest.h>

#include "models/lowering.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(StepCosts, SlowServersStretchTheKernelsAndNoNoiseDoesNot) {
    Scenario scenario = small_scenario("slow", {});
    Program program = lower(scenario.model, scenario.plan);
    const double even = step_costs(program, scenario, {}, {}).value().noise;
    scenario.cluster.slow_node_share = 1;
    scenario.cluster.slow_node_slowdown = 0.1;
    EXPECT_DOUBLE_EQ(step_costs(program, scenario, {}, {}).value().noise, 1.1 * even);
    EXPECT_EQ(step_costs(program, scenario, {}, {.without = Cause::noise}).value().noise, 1);
}

}  // namespace
}  // namespace orrery
