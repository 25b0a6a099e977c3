// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/device_needs.h"

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

std::string errors_of(const Scenario& scenario) {
    Errors errors;
    const DocumentNode root;
    check_device_needs(root, scenario, errors);
    std::string text;
    for (const Error& error : errors) {
        text += error.what + "\n";
    }
    return text;
}

TEST(DeviceNeeds, WhatLiesOnTheHostNeedsItsMemory) {
    Scenario scenario = small_scenario("host", {});
    scenario.cluster.node.host_memory = Bytes{};
    EXPECT_EQ(errors_of(scenario), "");
    scenario.plan.activation_offload_fraction = 0.5;
    EXPECT_NE(errors_of(scenario).find("host memory"), std::string::npos);
    scenario.plan.activation_offload_fraction = 0;
    scenario.plan.cpu_offloading_num_layers = 1;
    EXPECT_NE(errors_of(scenario).find("host memory"), std::string::npos);
    scenario.cluster.node.host_memory = Bytes{1'000'000'000'000};
    scenario.cluster.node.host_memory_bandwidth = Bandwidth::bits_per_second(800'000'000'000);
    EXPECT_EQ(errors_of(scenario), "");
}

TEST(DeviceNeeds, StateInAFileNeedsDrives) {
    Scenario scenario = small_scenario("file", {});
    scenario.cluster.node.host_memory = Bytes{1'000'000'000'000};
    scenario.cluster.node.host_memory_bandwidth = Bandwidth::bits_per_second(800'000'000'000);
    scenario.device.host_memory_bandwidth = Bandwidth::bits_per_second(200'000'000'000);
    scenario.plan.optimizer_cpu_offload = true;
    scenario.plan.optimizer_offload_tier = OffloadTier::file;
    scenario.cluster.node.nvme_drives = 0;
    EXPECT_NE(errors_of(scenario).find("has no drives"), std::string::npos);
    scenario.cluster.node.nvme_drives = 4;
    scenario.cluster.node.nvme_read_bandwidth = Bandwidth::bits_per_second(56'000'000'000);
    scenario.cluster.node.nvme_write_bandwidth = Bandwidth::bits_per_second(30'000'000'000);
    EXPECT_EQ(errors_of(scenario), "");
}

TEST(DeviceNeeds, WeightsAndGradientsInAFileNeedDrives) {
    Scenario scenario = small_scenario("tiers", {});
    scenario.cluster.node.host_memory = Bytes{1'000'000'000'000};
    scenario.cluster.node.host_memory_bandwidth = Bandwidth::bits_per_second(800'000'000'000);
    scenario.cluster.node.nvme_drives = 0;
    scenario.plan.optimizer_cpu_offload = true;
    scenario.plan.param_offload_tier = StateTier::host;
    EXPECT_EQ(errors_of(scenario), "");
    scenario.plan.grad_offload_tier = StateTier::file;
    EXPECT_NE(errors_of(scenario).find("has no drives"), std::string::npos);
    scenario.plan.grad_offload_tier = StateTier::host;
    scenario.plan.param_offload_tier = StateTier::file;
    EXPECT_NE(errors_of(scenario).find("has no drives"), std::string::npos);
}

}  // namespace
}  // namespace orrery
