// SPDX-License-Identifier: Apache-2.0
// What a search is asked: the section `search` of a scenario.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_spec.h"
#include "network/cluster_spec.h"
#include "scenarios/studies/search/plan_space.h"

namespace orrery {

enum class Objective : std::uint8_t {
    step_time,
    mfu,
    cost,     // money a token
    energy,   // a token
    goodput,  // step time over the share of the time that faults and recovery leave
};

// One of the clusters that are compared.
struct ClusterVariant {
    std::string label{};  // "nodes 64, fabric.nic_bandwidth 400 Gbps"
    std::vector<std::pair<std::string, std::string>> overrides{};  // keys below cluster
    ClusterSpec cluster;
    DeviceSpec device;
    std::vector<DeviceSpec> devices{};  // by kind of node, as Scenario::devices
    double price_per_gpu_hour = 0;
    double busy_watts = 0;  // a GPU and its share of the server while a kernel runs
    double idle_watts = 0;
};

struct SearchSpec {
    PlanSpace space;
    Objective objective = Objective::step_time;
    double tokens = 0;  // to train on; 0: no deadline and no budget
    double deadline_days = 0;
    double budget = 0;                     // in the price's currency
    std::vector<ClusterVariant> clusters;  // at least one
    std::int64_t simulations = 100;        // without contention, at most
    std::int64_t keep = 10;                // of the best plans
    std::uint32_t seeds = 10;              // of the campaign of each plan, where goodput counts
};

}  // namespace orrery
