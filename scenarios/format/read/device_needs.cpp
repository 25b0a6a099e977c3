// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/device_needs.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "models/plan/validate_plan.h"
#include "network/fabric/memory_tiers.h"

namespace orrery {
namespace {

// Checks the plan against the cluster's devices, and against the devices that a search compares.
void check_devices(const DocumentNode& root, const Scenario& scenario, Errors& errors) {
    const auto add = [&](const DeviceSpec& device, const std::string& where) {
        for (Error error : check_device(scenario.plan, device)) {
            error.where = where_of_path(root, where.empty() ? error.where : where);
            errors.push_back(std::move(error));
        }
    };
    add(scenario.device, {});
    std::set<std::string> seen{scenario.device.name};
    for (const DeviceSpec& device : scenario.devices) {
        if (seen.insert(device.name).second) {
            add(device, {});
        }
    }
    for (const ClusterVariant& variant : scenario.search.clusters) {
        if (seen.insert(variant.device.name).second) {
            add(variant.device, "search.cluster");
        }
    }
}

// A state on the host needs host memory of a known size, and the optimizer a known speed.
void check_host_memory(const DocumentNode& root, const Scenario& scenario, Errors& errors) {
    const ParallelPlan& plan = scenario.plan;
    const bool optimizer = plan.optimizer_cpu_offload;
    const bool layers = plan.cpu_offloading_num_layers > 0;
    const bool offloads = optimizer || layers || plan.activation_offload_fraction > 0;
    for (std::uint32_t k = 0; offloads && k < scenario.cluster.num_kinds(); ++k) {
        const NodeSpec node = scenario.cluster.kind(k).node;
        const std::string name = node.name.empty() ? "the node" : node.name;
        const auto lacks = [&](const char* key, const std::string& what, const char* hint) {
            errors.push_back({where_of_path(root, key), what, hint});
        };
        if (!has_tier(node, MemoryTier::dram) || node.host_memory_bandwidth == Bandwidth{}) {
            return lacks(optimizer ? "plan.optimizer_cpu_offload"
                         : layers  ? "plan.cpu_offloading_num_layers"
                                   : "plan.activation_offload_fraction",
                         "the size and bandwidth of the host memory of " + name + " are not known",
                         "give the node host_memory and host_memory_bandwidth");
        }
        const char* const in_file =
            plan.optimizer_offload_tier == OffloadTier::file ? "plan.optimizer_offload_tier"
            : plan.param_offload_tier == StateTier::file     ? "plan.param_offload_tier"
            : plan.grad_offload_tier == StateTier::file      ? "plan.grad_offload_tier"
                                                             : nullptr;
        if (optimizer && in_file != nullptr && !has_tier(node, MemoryTier::nvme)) {
            return lacks(in_file, name + " has no drives", "nvme_drives");
        }
    }
}

}  // namespace

void check_device_needs(const DocumentNode& root, const Scenario& scenario, Errors& errors) {
    check_devices(root, scenario, errors);
    check_host_memory(root, scenario, errors);
}

}  // namespace orrery
