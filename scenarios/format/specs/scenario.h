// SPDX-License-Identifier: Apache-2.0
// Everything that a simulation needs to know: the cluster, the model, how the model is spread over
// the cluster, and how closely the network is looked at. Read from a scenario file by
// scenarios/format/read/reader.h, or made from a row of published measurements by
// scenarios/studies/validate/published_cases.h.
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
    std::uint32_t steps = 2;  // simulated; the last step's period is the answer
    std::uint64_t seed = 0;
    TrainingJob training;         // without a dataset: a job that is only simulated
    bool drill = false;           // faults may be injected into a real run of it
    std::string dataset_where{};  // place of job.dataset in the scenario file
    bool operator==(const Job&) const = default;
};

struct Scenario;

// One of several jobs that share a cluster.
struct ClusterJob {
    Time start;
    // The job as if it were alone, on its part of the cluster (ClusterSpec::gpu_of_rank).
    std::shared_ptr<const Scenario> scenario;
};

struct Scenario {
    std::string name;
    std::string software{};  // that runs the job, with or without its version: "nemo-24.05"
    ClusterSpec cluster;
    std::string cluster_where{};        // place of cluster.nodes (or kinds) in the scenario file
    DeviceSpec device;                  // of the first kind of nodes
    std::vector<DeviceSpec> devices{};  // by kind of node; empty: all nodes have `device`
    Transformer model;
    // What model.hf_config says and the model cannot, and what was assumed.
    std::vector<std::string> model_remarks{};
    ParallelPlan plan;
    NetworkFidelity network = NetworkFidelity::fluid;
    NetworkSettings network_settings;
    Job job;
    std::vector<ClusterJob> jobs{};  // not empty: then `model`, `plan` and `software` say nothing
    SearchSpec search;               // without clusters if the scenario has no such section
    // As read from its file, changes by the command line included; null if it has no file.
    std::shared_ptr<const DocumentNode> document{};
    std::shared_ptr<const ScenarioOrigin> origin{};  // null likewise
    FaultPlan faults;
    std::vector<RecoveryPlan> recovery;
    CampaignPlan campaign;
    ServingSpec serving{};  // of a file of kind serving, with its load
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

// The same job on Orrery's own runtime, which launches from C++: what its profiles and runs are of.
inline Scenario on_own_runtime(Scenario scenario) {
    scenario.plan = scenario.plan.launched_from_cpp();
    return scenario;
}

}  // namespace orrery
