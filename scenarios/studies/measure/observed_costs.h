// SPDX-License-Identifier: Apache-2.0
// Makes the rows of a profile from the steps of a recorded run. The times of kernels and
// collectives are those inside real steps, with the effects of other ranks and earlier ops on
// caches, memory and processors. The host's times between ops and at the ends of steps are
// included.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"
#include "kernels/profile.h"
#include "runtime/measure/measured_timeline.h"

namespace orrery {

// Medians over the steps, ranks and ops of equal calls. `ranks_on_node`: the number of ranks that
// share a node.
MachineProfile observed_costs(const Program& program,
                              const std::vector<const MeasuredStep*>& steps,
                              const std::string& device,
                              std::uint32_t ranks_on_node);

// The rows of several runs. Equal rows become one with the median of the medians and the sum of the
// samples.
MachineProfile merged(const std::vector<MachineProfile>& profiles);

}  // namespace orrery
