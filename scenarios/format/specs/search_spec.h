// SPDX-License-Identifier: Apache-2.0
// What a search is asked: the section `search` of a scenario.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_spec.h"
#include "models/plan/plan.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

// How layers are dealt to the virtual stages.
enum class StageSplit : std::uint8_t {
    even,            // the same number each
    embedding_loss,  // embedding and output layer count as a layer each
    balanced,        // as evenly as whole layers allow, given what embedding and output cost
};

// An empty list: all that the cluster and the model admit.
struct PlanSpace {
    std::vector<std::int64_t> tensor_model_parallel_size;  // empty: within a node
    std::vector<std::int64_t> pipeline_model_parallel_size;
    std::vector<std::int64_t> virtual_pipeline_model_parallel_size;
    std::vector<std::int64_t> context_parallel_size;  // empty: 1 to 16
    std::vector<std::int64_t> micro_batch_size;       // empty: 1 to 16
    std::vector<ShardingStrategy> sharding;
    std::vector<Recompute> recompute;
    std::vector<ScheduleKind> schedules;
    std::vector<bool> overlap;  // the four overlap switches together
    std::vector<bool> sequence_parallel;
    std::vector<RankOrder> rank_orders;
    std::vector<StageSplit> splits;
    // Of models with experts.
    std::vector<std::int64_t> expert_model_parallel_size;   // empty: all that fit
    std::vector<std::int64_t> expert_tensor_parallel_size;  // empty: as the plan says
    std::vector<TokenDispatcher> dispatchers;               // empty: as the plan says
};

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
