// SPDX-License-Identifier: Apache-2.0
// Times of a Program's kernels on a device, and what they rest on.
#pragma once

#include <vector>

#include "engine/kernel_cost.h"
#include "engine/program.h"
#include "engine/simulation.h"
#include "kernels/device_spec.h"
#include "scenarios/answer.h"

namespace orrery {

DeviceTimings time_kernels(const Program& program,
                           const KernelCost& cost,
                           const DeviceSpec& device);

// Over the kernels that all ranks run in a step.
struct KernelSummary {
    CostSources sources;
    Time mean_per_rank;
    // Of mean_per_rank. Errors of kernels of one kind go together, those of different kinds are
    // independent.
    double relative_sigma = 0;
};
KernelSummary summarise_kernels(const Program& program, const DeviceTimings& timings);

}  // namespace orrery
