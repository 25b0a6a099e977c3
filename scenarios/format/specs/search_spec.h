// SPDX-License-Identifier: Apache-2.0
// The request of a search: the section `search` of a scenario.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_spec.h"
#include "models/plan/plan.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

// The split of layers over the virtual stages.
enum class StageSplit : std::uint8_t {
    even,            // the same number each
    embedding_loss,  // embedding and output layer count as a layer each
    balanced,  // as even as whole layers allow, counting the cost of embedding and output layer
};

// Candidate values. An empty list means all values that the cluster and the model allow.
struct PlanSpace {
    std::vector<std::int64_t> tensor_model_parallel_size;  // empty: within a node
    std::vector<std::int64_t> pipeline_model_parallel_size;
    std::vector<std::int64_t> virtual_pipeline_model_parallel_size;
    std::vector<std::int64_t> context_parallel_size;  // empty: 1 to 16
    std::vector<std::int64_t> micro_batch_size;       // empty: 1 to 16
    std::vector<ShardingStrategy> sharding;
    std::vector<Recompute> recompute;
    std::vector<ScheduleKind> schedules;
    std::vector<bool> overlap;  // all four overlap switches on or off
    std::vector<bool> sequence_parallel;
    std::vector<RankOrder> rank_orders;
    std::vector<StageSplit> splits;
    // For models with experts.
    std::vector<std::int64_t> expert_model_parallel_size;   // empty: all that fit
    std::vector<std::int64_t> expert_tensor_parallel_size;  // empty: the plan's value
    std::vector<TokenDispatcher> dispatchers;               // empty: the plan's value
};

enum class Objective : std::uint8_t {
    step_time,
    mfu,
    cost,     // money for a token
    energy,   // energy for a token
    goodput,  // step time divided by the share of time that faults and recovery leave
};

// One of the compared clusters.
struct ClusterVariant {
    std::string label{};  // "nodes 64, fabric.nic_bandwidth 400 Gbps"
    std::vector<std::pair<std::string, std::string>> overrides{};  // keys below cluster
    ClusterSpec cluster;
    DeviceSpec device;
    std::vector<DeviceSpec> devices{};  // by kind of node, like Scenario::devices
    double price_per_gpu_hour = 0;
    double busy_watts = 0;  // a GPU and its share of the server while a kernel runs
    double idle_watts = 0;
};

struct SearchSpec {
    PlanSpace space;
    Objective objective = Objective::step_time;
    double tokens = 0;  // tokens to train on; 0: no deadline and no budget
    double deadline_days = 0;
    double budget = 0;                     // in the currency of the prices
    std::vector<ClusterVariant> clusters;  // at least one
    std::int64_t simulations = 100;        // maximum, with contention not simulated
    std::int64_t keep = 10;                // number of best plans to keep
    std::uint32_t seeds = 10;              // of each plan's campaign, with the objective goodput
};

}  // namespace orrery
