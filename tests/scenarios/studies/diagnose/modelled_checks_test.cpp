// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diagnose/modelled_checks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

Scenario cluster(const std::vector<FaultProcess>& standing, const std::vector<StepFault>& in_step) {
    Scenario scenario = small_scenario("checked", {"cluster.nodes=4", "plan.global_batch_size=32"});
    scenario.faults.processes = standing;
    scenario.faults.in_step = in_step;
    return scenario;
}

std::vector<std::string> suspects_of(const Scenario& scenario) {
    const auto checks = modelled_checks(scenario);
    EXPECT_TRUE(checks) << checks.error().to_string();
    return checks ? checks->suspects : std::vector<std::string>{};
}

FaultProcess standing_fault(FaultKind kind, Component at, double factor = 0) {
    return {.name = "fault", .kind = kind, .at = at, .once = WallTime{}, .factor = factor};
}

TEST(ModelledChecks, NobodyIsSuspectedOfAHealthyCluster) {
    EXPECT_TRUE(suspects_of(cluster({}, {})).empty());
}

TEST(ModelledChecks, ASlowNicIsFoundAndItsPartnersAreNot) {
    const auto found =
        suspects_of(cluster({standing_fault(FaultKind::slow_nic, {Scope::nic, 1}, 4)}, {}));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].find("0.25 of the median") != std::string::npos) << found[0];
}

TEST(ModelledChecks, ASlowGpuAndADeadNodeAreFound) {
    const auto found =
        suspects_of(cluster({standing_fault(FaultKind::slow_gpu, {Scope::gpu, 5}, 1.5),
                             standing_fault(FaultKind::node_crash, {Scope::node, 3})},
                            {}));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0], "node 1 gpu 1: 1.50 times as slow as the median");
    EXPECT_EQ(found[1], "node 3: does not answer");
}

// The GPUs of its node are well.
TEST(ModelledChecks, ADeadNicIsNamedAndNotItsNode) {
    const auto found =
        suspects_of(cluster({standing_fault(FaultKind::nic_down, {Scope::nic, 1})}, {}));
    ASSERT_FALSE(found.empty());
    EXPECT_NE(found[0].find("nic 1"), std::string::npos) << found[0];
    for (const std::string& suspect : found) {
        EXPECT_EQ(suspect.find("does not answer"), std::string::npos) << suspect;
    }
}

// Two NVLink domains of two trays with two GPUs and NICs each; the job leaves the last tray out.
Scenario trays(const FaultProcess& fault) {
    Scenario scenario = small_scenario(
        "trays",
        {"cluster.node={base: gb200-nvl72, gpus_per_node: 4, trays: 2, nics_per_tray: 2}",
         "cluster.fabric=ndr400-rail",
         "cluster.gpus=6",
         "plan.global_batch_size=12"});
    scenario.faults.processes = {fault};
    return scenario;
}

TEST(ModelledChecks, ALostTrayIsANode) {
    const auto found = suspects_of(trays(standing_fault(FaultKind::node_crash, {Scope::node, 1})));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0], "node 1: does not answer");
}

TEST(ModelledChecks, ANicOfATrayIsNamedByItsTray) {
    const auto found = suspects_of(trays(standing_fault(FaultKind::nic_down, {Scope::nic, 5})));
    ASSERT_FALSE(found.empty());
    EXPECT_NE(found[0].find("node 2 nic 1"), std::string::npos) << found[0];
    for (const std::string& suspect : found) {
        EXPECT_EQ(suspect.find("node 2 nic 0"), std::string::npos) << suspect;
    }
}

// Rail 1 of all trays hangs on it.
TEST(ModelledChecks, ADeadLeafCutsItsRailOfEveryTray) {
    const auto checks =
        modelled_checks(trays(standing_fault(FaultKind::switch_down, {Scope::leaf, 1})));
    ASSERT_TRUE(checks);
    const auto loopback = std::ranges::find_if(checks->tests, [](const ModelledCheck& check) {
        return check.test.starts_with("loopback");
    });
    ASSERT_NE(loopback, checks->tests.end());
    EXPECT_EQ(loopback->count, 8u);
    EXPECT_EQ(loopback->failed, 4u) << "the tray that the job leaves out hangs on it as well";
}

TEST(ModelledChecks, WhatComesInTheStepIsThereToo) {
    const auto found = suspects_of(cluster({},
                                           {{.kind = FaultKind::nic_down, .at = {Scope::nic, 2}},
                                            {.kind = FaultKind::gpu_lost, .at = {Scope::gpu, 0}}}));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0], "node 0 gpu 0: does not answer");
    EXPECT_NE(found[1].find("0.00 of the median"), std::string::npos) << found[1];
}

}  // namespace
}  // namespace orrery
