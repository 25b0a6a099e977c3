// SPDX-License-Identifier: Apache-2.0
// The devices of a cluster whose nodes are of several kinds: a rank has the device of its node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// What NCCL knows of the devices: `devices` by kind of node; empty: all have `device`.
NcclNetworkOptions nccl_options(const DeviceSpec& device, const std::vector<DeviceSpec>& devices);
inline NcclNetworkOptions nccl_options(const Scenario& scenario) {
    return nccl_options(scenario.device, scenario.devices);
}

// Ranks by kind of node, those of the job only.
std::vector<std::uint32_t> ranks_of_kinds(const ClusterSpec& cluster);

// "h100-80g", "h100-80g + a100-80g"
std::string device_names(const Scenario& scenario);

// The mean over the ranks of their devices' peaks at the plan's precision: times the number of
// ranks, it is what all devices together could do, which MFU and HFU are shares of.
FlopRate mean_peak(const ClusterSpec& cluster,
                   const DeviceSpec& device,
                   const std::vector<DeviceSpec>& devices,
                   Dtype precision);
inline FlopRate mean_peak(const Scenario& scenario) {
    return mean_peak(scenario.cluster, scenario.device, scenario.devices, scenario.plan.precision);
}

// Mean over the ranks of the time that their useful work takes at their own device's peak, less the
// time that it would take at the mean peak. Zero where devices are alike; above it if slow devices
// have more than their share of the work. `devices`: by kind of node.
Time work_on_slower_devices(const Program& program,
                            const Scenario& scenario,
                            std::span<const DeviceTimings> devices);

// By role of the program: the least memory of its ranks' devices.
std::vector<Bytes> memory_of_roles(const Program& program, const Scenario& scenario);

// What a user should know of stages that lie on nodes of several kinds, and of MFU.
std::vector<std::string> kind_remarks(const Program& program, const Scenario& scenario);

// An error if the cluster lists kinds of nodes; `what` knows one kind only ("orrery campaign").
Result<void> check_one_kind(const Scenario& scenario, std::string_view what);

}  // namespace orrery
