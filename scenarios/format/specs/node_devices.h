// SPDX-License-Identifier: Apache-2.0
// The devices of a cluster with several kinds of nodes. A rank has the device of its node.
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

// NCCL's view of the devices. `devices` is by kind of node; empty: all nodes have `device`.
NcclNetworkOptions nccl_options(const DeviceSpec& device, const std::vector<DeviceSpec>& devices);
inline NcclNetworkOptions nccl_options(const Scenario& scenario) {
    return nccl_options(scenario.device, scenario.devices);
}

// The number of ranks on each kind of node; only ranks of the job count.
std::vector<std::uint32_t> ranks_of_kinds(const ClusterSpec& cluster);

// "h100-80g", "h100-80g + a100-80g"
std::string device_names(const Scenario& scenario);

// The mean over the ranks of their devices' peaks at the plan's precision. Times the number of
// ranks, it is the peak of all devices together, the base of MFU and HFU.
FlopRate mean_peak(const ClusterSpec& cluster,
                   const DeviceSpec& device,
                   const std::vector<DeviceSpec>& devices,
                   Dtype precision);
inline FlopRate mean_peak(const Scenario& scenario) {
    return mean_peak(scenario.cluster, scenario.device, scenario.devices, scenario.plan.precision);
}

// The mean over the ranks of the time of their useful work at their own device's peak, minus its
// time at the mean peak. Zero if all devices are equal; positive if slow devices have more than
// their share of the work. `devices` is by kind of node.
Time work_on_slower_devices(const Program& program,
                            const Scenario& scenario,
                            std::span<const DeviceTimings> devices);

// By role of the program: the least memory among the devices of its ranks.
std::vector<Bytes> memory_of_roles(const Program& program, const Scenario& scenario);

// Notes on stages that are on nodes of several kinds, and on MFU.
std::vector<std::string> kind_remarks(const Program& program, const Scenario& scenario);

// An error if the cluster lists kinds of nodes. `what` supports only one kind ("orrery campaign").
Result<void> check_one_kind(const Scenario& scenario, std::string_view what);

}  // namespace orrery
