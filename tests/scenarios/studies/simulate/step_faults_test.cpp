// SPDX-License-Identifier: Apache-2.0
// Faults inside a simulated step: which rank is slow, and which waits.
#include "scenarios/studies/simulate/step_faults.h"

#include <gtest/gtest.h>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

Scenario with_fault(const std::vector<std::string>& settings,
                    FaultKind kind,
                    Component at,
                    double factor) {
    Scenario scenario = small_scenario("faulty", settings);
    scenario.faults.processes = {
        {.name = "fault", .kind = kind, .at = at, .once = WallTime{}, .factor = factor}};
    return scenario;
}

Time step_of(const Scenario& scenario) {
    const Result<Answer> answer = simulate_scenario(scenario);
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? answer->iteration : Time{};
}

TEST(StepFaults, OnlyWhatStandsFromTheStartIsInAStep) {
    Scenario scenario = with_fault({}, FaultKind::slow_gpu, {Scope::gpu, 3}, 1.5);
    ASSERT_EQ(step_faults(scenario).size(), 1u);
    EXPECT_EQ(step_faults(scenario)[0].at, (Component{Scope::gpu, 3}));
    scenario.faults.processes[0].once = WallTime::seconds(5);
    EXPECT_TRUE(step_faults(scenario).empty());
}

TEST(StepFaults, ASlowGpuIsADeviceClassOfItsOwn) {
    const Scenario scenario = with_fault({}, FaultKind::slow_gpu, {Scope::gpu, 3}, 1.5);
    DeviceTimings timings;
    timings.kernels = {{.duration = Time::seconds(2)}};
    const DeviceClasses classes =
        device_classes(step_faults(scenario), scenario, std::span{&timings, 1}, 8);
    ASSERT_EQ(classes.devices.size(), 2u);
    EXPECT_EQ(classes.devices[1].kernels[0].duration, Time::seconds(3));
    EXPECT_EQ(classes.of_rank, (std::vector<std::uint16_t>{0, 0, 0, 1, 0, 0, 0, 0}));
}

// Two NVLink domains of two trays: a slow host is a tray.
TEST(StepFaults, AHostOfSeveralTraysIsOneTray) {
    Scenario scenario = with_fault({"cluster.node={base: gb200-nvl72, gpus_per_node: 4, trays: 2, "
                                    "nics_per_tray: 2}",
                                    "cluster.fabric=single-switch-100"},
                                   FaultKind::slow_host,
                                   {Scope::node, 2},
                                   1.5);
    EXPECT_EQ(scenario.campaign.shape.nodes, 4U);
    EXPECT_EQ(scenario.campaign.shape.nics_per_node, 2U);
    EXPECT_EQ(scenario.campaign.shape.nodes_per_rack, 2U);
    const DeviceClasses classes =
        device_classes(step_faults(scenario), scenario, std::vector<DeviceTimings>(1), 8);
    EXPECT_EQ(classes.of_rank, (std::vector<std::uint16_t>{0, 0, 0, 0, 1, 1, 0, 0}));
}

// A job of replicas waits for its slowest once a step: for what that one computes longer.
TEST(StepFaults, ReplicasWaitForTheSlowest) {
    const Time healthy = step_of(small_scenario("healthy", {}));
    const Time slow = step_of(with_fault({}, FaultKind::slow_gpu, {Scope::gpu, 5}, 1.5));
    EXPECT_GT(slow / healthy, 1.3);
    EXPECT_LT(slow / healthy, 1.5);
    // Who is slow does not matter, nor does a second one beside it.
    EXPECT_NEAR(step_of(with_fault({}, FaultKind::slow_gpu, {Scope::gpu, 0}, 1.5)) / slow, 1, 0.01);
    EXPECT_NEAR(
        step_of(with_fault({}, FaultKind::slow_host, {Scope::node, 1}, 1.5)) / slow, 1, 0.01);
}

// V9: each micro-batch waits for a pipeline's slow stage; its other stages do not get slower, so a
// stage that dominates takes m of its own times: twice as slow is about twice as long.
TEST(StepFaults, APipelineGoesAtThePaceOfItsSlowStage) {
    const std::vector<std::string> pipeline{"plan.pipeline_model_parallel_size=8",
                                            "plan.micro_batch_size=1",
                                            // No host that restarts, which a slow GPU leaves be.
                                            "plan.overlap_p2p=true"};
    const Time slow = step_of(with_fault(pipeline, FaultKind::slow_gpu, {Scope::gpu, 3}, 20));
    const Time slower = step_of(with_fault(pipeline, FaultKind::slow_gpu, {Scope::gpu, 3}, 40));
    // Of 32 micro-batches through 8 stages, about 9 stages' time is not the slow one's.
    const double expected = (32 * 40 + 9.0) / (32 * 20 + 9.0);
    EXPECT_NEAR(slower / slow, expected, 0.02);
}

// V10: a ring goes at the rate of its slowest link.
TEST(StepFaults, ASlowAdapterSlowsTheExchangeOfGradients) {
    const Time healthy = step_of(small_scenario("healthy", {}));
    const Time slow = step_of(with_fault({}, FaultKind::slow_nic, {Scope::nic, 2}, 4));
    EXPECT_GT(slow, healthy);
    EXPECT_EQ(step_of(with_fault({}, FaultKind::slow_nic, {Scope::nic, 2}, 1)), healthy);
}

TEST(StepFaults, FoldedAndUnfoldedAgree) {
    const Scenario scenario =
        with_fault({"plan.tensor_model_parallel_size=2", "plan.pipeline_model_parallel_size=2"},
                   FaultKind::slow_gpu,
                   {Scope::gpu, 6},
                   1.3);
    const Result<Answer> folded = simulate_scenario(scenario);
    const Result<Answer> unfolded = simulate_scenario(scenario, {.fold = false});
    ASSERT_TRUE(folded && unfolded);
    EXPECT_EQ(folded->iteration, unfolded->iteration);
}

TEST(StepFaults, WhatStopsAStepIsAnError) {
    const Scenario scenario = with_fault({}, FaultKind::gpu_lost, {Scope::gpu, 3}, 1);
    const Result<Answer> answer = simulate_scenario(scenario);
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().hint.find("orrery campaign"), std::string::npos);
    const Scenario one = with_fault(
        {"cluster.nodes=1", "plan.global_batch_size=16"}, FaultKind::slow_nic, {Scope::nic, 0}, 2);
    EXPECT_FALSE(simulate_scenario(one));
}

}  // namespace
}  // namespace orrery
