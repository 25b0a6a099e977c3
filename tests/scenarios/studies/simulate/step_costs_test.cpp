// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_costs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/lowering/lowering.h"
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

TEST(StepSpread, GrowsWithTheGpusAndTheirPace) {
    EXPECT_EQ(doublings_of_pace(8, 1), 0);
    EXPECT_EQ(doublings_of_pace(1, 1), 0) << "less is not surer";
    EXPECT_EQ(doublings_of_pace(64, 1), 3);
    EXPECT_EQ(doublings_of_pace(64, 2), 2);
    EXPECT_EQ(doublings_of_pace(4, 0.25), 1);
    EXPECT_EQ(doublings_of_pace(64, 0), 0) << "no step";
    const StepSpread spread{
        .sigma = 0.1, .shift = -0.02, .shift_doubling = 0.01, .sigma_doubling = 0.2};
    EXPECT_DOUBLE_EQ(spread.at(64, 2).sigma, 0.1 * std::exp(0.4));
    EXPECT_DOUBLE_EQ(spread.at(64, 2).shift, 0.04);
    EXPECT_DOUBLE_EQ(spread.at(0, 2).shift, -0.02);
}

TEST(SpreadsOf, GrowForUnseenSoftwareAlone) {
    EfficiencyTable table;
    const auto set = [&](const char* name, double value) {
        table.set(name, "*", "*", {.value = value, .sigma = 0, .source = "test"});
    };
    set("step.residual", 0.05);
    set("step.residual.lineage", 0.1);
    set("step.residual.device", 0.08);
    set("step.residual.experts", 0.12);
    set("step.residual.doubling", 0.2);
    set("step.shift.lineage", -0.02);
    set("step.shift.experts", 0.3);
    set("step.shift.doubling", 0.01);
    Scenario scenario = small_scenario("unseen", {});
    table.set("step.seen.nemo",
              scenario.device.generation,
              dtype_class(scenario.plan.precision),
              {.value = 1, .sigma = 0, .source = "test"});
    const auto spread = [&](const char* software, std::int64_t num_gpus) {
        scenario.software = software;
        StepCosts costs;
        costs.spreads = spreads_of(scenario, scenario.device, table);
        costs.num_ranks = num_gpus;
        return spread_of(costs, Time::seconds(2));
    };
    EXPECT_EQ(spread("nemo", 64).sigma, 0.05);
    EXPECT_EQ(spread("nemo", 64).shift, 0);
    EXPECT_DOUBLE_EQ(spread("torchtitan", 64).sigma, 0.1 * std::exp(0.4));
    EXPECT_DOUBLE_EQ(spread("torchtitan", 64).shift, 0.04);
    // The widest of two counts, whichever it is for the step.
    scenario.model.num_experts = 8;
    EXPECT_EQ(spread("nemo", 64).sigma, 0.12);
    EXPECT_EQ(spread("torchtitan", 16).sigma, 0.12);
    EXPECT_EQ(spread("torchtitan", 16).shift, 0.3);
    EXPECT_DOUBLE_EQ(spread("torchtitan", 64).sigma, 0.1 * std::exp(0.4));
    EXPECT_DOUBLE_EQ(spread("torchtitan", 64).shift, 0.04);
    // On a device that was not seen the software may still be what is least known.
    scenario.model.num_experts = 0;
    scenario.device.generation = "another";
    EXPECT_EQ(spread("nemo", 64).sigma, 0.08);
    EXPECT_DOUBLE_EQ(spread("torchtitan", 64).sigma, 0.1 * std::exp(0.4));
}

// On top of what the fitted steps leave: their own products were near measured ones.
TEST(RelativeSigma, WidensWithKernelsFarFromMeasuredShapes) {
    SimulationResult result;
    result.iteration = Time::seconds(1);
    result.critical_path[Cause::exposed_tensor] = Time::seconds(0.25);
    StepCosts costs;
    costs.kernels.sources.roofline = 1;
    costs.spreads = {{.sigma = 0.04}};
    const double near = relative_sigma(result, costs);
    costs.kernels.distance_sigma = 0.2;
    EXPECT_DOUBLE_EQ(relative_sigma(result, costs), std::hypot(near, 0.2 * 0.75));
    // Without a table of steps the kernels' own error has the distance in it.
    costs.spreads.clear();
    costs.kernels.relative_sigma = 0.2;
    EXPECT_DOUBLE_EQ(relative_sigma(result, costs), std::hypot(0.2 * 0.75, 0.15 * 0.25));
}

}  // namespace
}  // namespace orrery
