// SPDX-License-Identifier: Apache-2.0
// Faults that are there during a simulated step: slow GPUs and hosts become device classes of the
// simulated executor, slow adapters and links lose capacity. What would stop the step is an error.
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

// Those of the scenario that stand from the start on and act on a step (fault_use.h), with their
// lotteries drawn.
std::vector<FaultEvent> step_faults(const Scenario& scenario);

// "slow_gpu at node:3/gpu:1, 1.1 times slower", for reports, those in the middle of the step last.
std::vector<std::string> fault_lines(const std::vector<FaultEvent>& faults,
                                     const Scenario& scenario);

// One class for each kind of node and factor, the healthy one of the first kind first. `healthy`:
// by kind of node.
struct DeviceClasses {
    std::vector<DeviceTimings> devices;
    std::vector<std::uint16_t> of_rank;  // empty: all healthy, and of one kind
};
DeviceTimings slower(DeviceTimings timings, double factor);
DeviceClasses device_classes(const std::vector<FaultEvent>& faults,
                             const Scenario& scenario,
                             std::span<const DeviceTimings> healthy,
                             std::uint32_t ranks);

// The links of slow adapters lose capacity; of a dead link an error says who can't go on.
Result<void> slow_links(const std::vector<FaultEvent>& faults,
                        const Scenario& scenario,
                        Fabric& fabric);

}  // namespace orrery
