// SPDX-License-Identifier: Apache-2.0
// Faults during a whole simulated step. Slow GPUs and hosts become device classes of the simulated
// executor, and slow adapters and links lose capacity. A fault that would stop the step is an
// error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/faults/fault_process.h"
#include "engine/world/simulation.h"
#include "network/fabric/fabric.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// The scenario's faults that are present from the start and act on a step (fault_use.h), with their
// random choices made.
std::vector<FaultEvent> step_faults(const Scenario& scenario);

// "slow_gpu at node:3/gpu:1, 1.1 times as slow", for reports; faults in the middle of the step come
// last.
std::vector<std::string> fault_lines(const std::vector<FaultEvent>& faults,
                                     const Scenario& scenario);

// One class for each kind of node and each factor. The first is the healthy class of the first
// kind. `healthy`: by kind of node.
struct DeviceClasses {
    std::vector<DeviceTimings> devices;
    std::vector<std::uint16_t> of_rank;  // empty: all ranks are healthy and of one kind
};
DeviceTimings slower(DeviceTimings timings, double factor);
DeviceClasses device_classes(const std::vector<FaultEvent>& faults,
                             const Scenario& scenario,
                             std::span<const DeviceTimings> healthy,
                             std::uint32_t ranks);

// Reduces the capacity of the links of slow adapters. For a dead link the error names the ranks
// that cannot continue.
Result<void> slow_links(const std::vector<FaultEvent>& faults,
                        const Scenario& scenario,
                        Fabric& fabric);

}  // namespace orrery
