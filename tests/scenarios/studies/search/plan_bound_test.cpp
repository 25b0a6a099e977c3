// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_bound.h"

#include <gtest/gtest.h>

#include "kernels/cost_model.h"
#include "network/nccl_network.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/studies/simulate/kernel_timings.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/models/changed_plans.h"
#include "tests/scenarios/small_scenarios.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

// The bound of a scenario's plan, by the tables that its simulation uses.
Bound bound_of(const Scenario& scenario) {
    const auto curves =
        read_efficiency_table((default_catalogue() / "kernel_efficiency.csv").string());
    const auto factors =
        read_efficiency_table((default_catalogue() / "step_efficiency.csv").string());
    const CostModel cost{scenario.device, *curves};
    const StepEfficiency step{*factors, scenario.device};
    Result<Fabric> fabric = build_fabric(scenario.cluster);
    const NcclNetwork network{
        std::move(*fabric),
        NcclNetworkOptions{.compute_capability = scenario.device.compute_capability,
                           .num_sms = scenario.device.num_sms,
                           .contention = false}};
    PlanBound bound{scenario.model, network, [&](const Program& program) {
                        return time_kernels(program, cost, step, scenario.device, 1.0);
                    }};
    return bound.of(scenario.plan);
}

TEST(PlanBound, NoSmallScenarioIsFasterOrSmaller) {
    for (Scenario scenario : small_scenarios()) {
        const auto answer = simulate_scenario(scenario);
        ASSERT_TRUE(answer) << scenario.name;
        const Bound bound = bound_of(scenario);
        EXPECT_LE(bound.time, answer->iteration) << scenario.name;
        EXPECT_LE(bound.memory.count(), answer->memory.peak.count()) << scenario.name;
        // And it says something.
        EXPECT_GT(bound.time * 4, answer->iteration) << scenario.name;
        EXPECT_GT(bound.memory.count() * 4, answer->memory.peak.count()) << scenario.name;
    }
}

TEST(PlanBound, GradientsOfZero2ArriveAfterABreadthFirstSchedulesActivations) {
    const Scenario scenario = small_scenario("breadth first",
                                             {"plan.pipeline_model_parallel_size=2",
                                              "plan.virtual_pipeline_model_parallel_size=5",
                                              "plan.embedding_and_loss_as_layers=true",
                                              "plan.schedule=breadth_first",
                                              "plan.data_parallel_sharding_strategy=optim_grads"});
    const auto answer = simulate_scenario(scenario);
    ASSERT_TRUE(answer);
    EXPECT_LE(bound_of(scenario).memory.count(), answer->memory.peak.count());
}

TEST(PlanBound, NoPlanOfASpaceIsFasterOrSmaller) {
    Scenario scenario = small_scenario("space", {});
    PlanSpace space;
    space.tensor_model_parallel_size = {1, 2};
    space.micro_batch_size = {2};
    std::vector<PlanPoint> points;
    std::map<std::string, std::int64_t> refused;
    for_each_plan(
        space,
        scenario.model,
        scenario.plan,
        {8, 4},
        [&](PlanPoint point) { points.push_back(std::move(point)); },
        refused);
    scenario.network = NetworkFidelity::analytic;
    std::size_t checked = 0;
    for (std::size_t i = 0; i < points.size(); i += 1 + points.size() / 120) {
        scenario.plan = points[i].plan;
        const auto answer = simulate_scenario(scenario);
        ASSERT_TRUE(answer);
        const Bound bound = bound_of(scenario);
        EXPECT_LE(bound.time, answer->iteration) << answer->plan << ", point " << i;
        EXPECT_LE(bound.memory.count(), answer->memory.peak.count())
            << answer->plan << ", point " << i;
        ++checked;
    }
    EXPECT_GE(checked, 60u);
}

// A bound that has seen other plans gives what a fresh one gives, whatever the field in which the
// plans differ.
TEST(PlanBound, NoFieldOfAPlanIsForgottenByItsCaches) {
    const Scenario scenario = small_scenario("one field",
                                             {"plan.tensor_model_parallel_size=2",
                                              "plan.pipeline_model_parallel_size=2",
                                              "plan.sequence_parallel=true",
                                              "plan.tp_comm_overlap=true",
                                              "plan.overlap_grad_reduce=true"});
    const testing::TimedPlans timed{scenario};
    const auto make = [&] {
        return PlanBound{scenario.model, timed.costs->network(), [&](const Program& program) {
                             return timed.costs->mean_device(program);
                         }};
    };
    PlanBound shared = make();
    shared.of(scenario.plan);
    int plans = 0;
    testing::for_each_changed_plan(
        scenario.model, scenario.plan, [&](std::string_view field, const ParallelPlan& plan) {
            const Bound expected = make().of(plan);
            const Bound bound = shared.of(plan);
            EXPECT_EQ(bound.time, expected.time) << field;
            EXPECT_EQ(bound.guess, expected.guess) << field;
            EXPECT_EQ(bound.memory.count(), expected.memory.count()) << field;
            ++plans;
        });
    EXPECT_GT(plans, 35);
}

}  // namespace
}  // namespace orrery
