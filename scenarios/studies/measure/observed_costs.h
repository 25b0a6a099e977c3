// SPDX-License-Identifier: Apache-2.0
// From the steps of a recorded run to the rows of a profile: kernels and collectives as they were
// inside real steps, with whatever other ranks and earlier ops did to caches, memory and processors
// at that time, and the host's time between ops and at the ends of steps.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"
#include "kernels/profile.h"
#include "runtime/measure/measured_timeline.h"

namespace orrery {

// Medians over the steps, ranks and ops of equal calls. `ranks_on_node`: how many of the ranks
// share a node.
MachineProfile observed_costs(const Program& program,
                              const std::vector<const MeasuredStep*>& steps,
                              const std::string& device,
                              std::uint32_t ranks_on_node);

// Rows of several runs together; of equal ones the median of the medians, the samples added up.
MachineProfile merged(const std::vector<MachineProfile>& profiles);

}  // namespace orrery
