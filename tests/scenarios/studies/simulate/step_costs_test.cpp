// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_costs.h"

#include <gtest/gtest.h>

#include <cmath>

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

TEST(StepCosts, KernelsOfMonthsAreAnError) {
    Scenario scenario = small_scenario("slow", {});
    scenario.device.kernel_latency = Time::seconds(1e5);
    const Program program = lower(scenario.model, scenario.plan);
    const auto costs = step_costs(program, scenario, {}, {});
    ASSERT_FALSE(costs);
    EXPECT_NE(costs.error().what.find("clock ends after 106"), std::string::npos);
}

// On top of what the fitted steps leave: their own products were near measured ones.
TEST(RelativeSigma, WidensWithKernelsFarFromMeasuredShapes) {
    SimulationResult result;
    result.iteration = Time::seconds(1);
    result.critical_path[Cause::exposed_tensor] = Time::seconds(0.25);
    StepCosts costs;
    costs.kernels.sources.roofline = 1;
    costs.residual.sigma = 0.04;
    const double near = relative_sigma(result, costs);
    costs.kernels.distance_sigma = 0.2;
    EXPECT_DOUBLE_EQ(relative_sigma(result, costs), std::hypot(near, 0.2 * 0.75));
    // Without a table of steps the kernels' own error has the distance in it.
    costs.residual.sigma = 0;
    costs.kernels.relative_sigma = 0.2;
    EXPECT_DOUBLE_EQ(relative_sigma(result, costs), std::hypot(0.2 * 0.75, 0.15 * 0.25));
}

}  // namespace
}  // namespace orrery
