// SPDX-License-Identifier: Apache-2.0
// The input of a simulation: the cluster, the model, the plan and the network's fidelity. It is
// read from a scenario file by scenarios/format/read/reader.h, or made from a row of published
// measurements by scenarios/studies/validate/published_cases.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device_spec.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/node_kinds.h"
#include "runtime/training_job.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/campaign_plan.h"
#include "scenarios/format/specs/network_settings.h"
#include "scenarios/format/specs/pool_search.h"
#include "scenarios/format/specs/search_spec.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

struct ScenarioOrigin;  // scenarios/format/read/effective_scenario.h

struct Job {
    std::uint32_t steps = 2;  // number of simulated steps; the answer is the period of the last one
    std::uint64_t seed = 0;
    TrainingJob training;         // without a dataset the job can only be simulated
    bool drill = false;           // a real run of the job may have injected faults
    std::string dataset_where{};  // place of job.dataset in the scenario file
    bool operator==(const Job&) const = default;
};

struct Scenario;

// One of several jobs that share a cluster.
struct ClusterJob {
    Time start;
    // The job by itself, on its part of the cluster (ClusterSpec::gpu_of_rank).
    std::shared_ptr<const Scenario> scenario;
};

struct Scenario {
    std::string name;
    // The software that runs the job, with or without its version: "nemo-24.05"
    std::string software{};
    ClusterSpec cluster;
    std::string cluster_where{};        // place of cluster.nodes (or kinds) in the scenario file
    DeviceSpec device;                  // of the first kind of nodes
    std::vector<DeviceSpec> devices{};  // by kind of node; empty: all nodes have `device`
    Transformer model;
    // Information of model.hf_config that the model does not represent, and assumptions.
    std::vector<std::string> model_remarks{};
    ParallelPlan plan;
    NetworkFidelity network = NetworkFidelity::fluid;
    NetworkSettings network_settings;
    Job job;
    std::vector<ClusterJob> jobs{};  // if not empty, `model`, `plan` and `software` are unused
    SearchSpec search;               // without clusters if the scenario has no such section
    // The scenario's file with the changes of the command line; null without a file.
    std::shared_ptr<const DocumentNode> document{};
    std::shared_ptr<const ScenarioOrigin> origin{};  // null without a file
    FaultPlan faults;
    std::vector<RecoveryPlan> recovery;
    CampaignPlan campaign;
    ServingSpec serving{};  // for a file of kind serving, with its load
    WorkloadSpec workload{};
    PoolSearch pool_search{};

    const DeviceSpec& device_of_kind(std::uint32_t kind) const {
        return kind < devices.size() ? devices[kind] : device;
    }
};

// "2 x gb200-nvl72 (100 of 144 GPUs)", "2 x dgx-h100 + 2 x dgx-a100-80g"
inline std::string words_of(const ClusterSpec& cluster) {
    std::string text;
    for (std::uint32_t number = 0; number < cluster.num_kinds(); ++number) {
        const NodeKind kind = cluster.kind(number);
        const std::string node = kind.node.name.empty() ? "node" : kind.node.name;
        text += (number == 0 ? "" : " + ") + std::to_string(kind.num_nodes) + " x " + node;
        if (kind.nic_class != NicClass::one_fabric) {
            text += " (" + std::string{name(kind.nic_class)} + ")";
        }
    }
    if (cluster.num_ranks() != cluster.num_gpus()) {
        text += " (" + std::to_string(cluster.num_ranks()) + " of " +
                std::to_string(cluster.num_gpus()) + " GPUs)";
    }
    return text;
}

// The same job on Orrery's own runtime, which launches ops from C++. Profiles and runs are of such
// jobs.
inline Scenario on_own_runtime(Scenario scenario) {
    scenario.plan = scenario.plan.launched_from_cpp();
    return scenario;
}

}  // namespace orrery
