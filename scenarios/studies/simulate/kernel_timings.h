// SPDX-License-Identifier: Apache-2.0
// Times of a Program's kernels on a device, and the sources of these times.
#pragma once

#include <span>
#include <vector>

#include "engine/program/kernel_cost.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "kernels/device_spec.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/simulate/step_efficiency.h"

namespace orrery {

// The kernels `loaded` (engine/program/step_load.h) follow those of the program. `step`: factors of
// a training step on predictions of the cost model's curves. `slowdown`: factor of the slowest
// device on all times.
DeviceTimings time_kernels(const Program& program,
                           const KernelCost& cost,
                           const StepEfficiency& step,
                           const DeviceSpec& device,
                           double slowdown,
                           std::span<const KernelCall> loaded = {});

// The number of runs of each kernel by one rank of each role in a step, summed over roles.
std::vector<std::int64_t> kernel_counts(const Program& program);

// For the kernels that all ranks run in a step.
struct KernelSummary {
    CostSources sources;
    Time mean_per_rank;
    // Of mean_per_rank. Errors of kernels of one kind are fully correlated, those of different
    // kinds independent.
    double relative_sigma = 0;
    // The part of it (the squares add up) from kernels far from measured shapes.
    double distance_sigma = 0;
};
KernelSummary summarise_kernels(const Program& program, const DeviceTimings& timings);

}  // namespace orrery
