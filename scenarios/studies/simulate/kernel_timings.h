// SPDX-License-Identifier: Apache-2.0
// Times of a Program's kernels on a device, and what they rest on.
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

// Behind the kernels of the program come `loaded` ones (engine/program/step_load.h).
// `step`: factors of a training step on what the cost model's curves predict. `slowdown`: of the
// slowest device, on everything.
DeviceTimings time_kernels(const Program& program,
                           const KernelCost& cost,
                           const StepEfficiency& step,
                           const DeviceSpec& device,
                           double slowdown,
                           std::span<const KernelCall> loaded = {});

// How often one rank of each role runs each kernel in a step, summed over roles.
std::vector<std::int64_t> kernel_counts(const Program& program);

// Over the kernels that all ranks run in a step.
struct KernelSummary {
    CostSources sources;
    Time mean_per_rank;
    // Of mean_per_rank. Errors of kernels of one kind go together, those of different kinds are
    // independent.
    double relative_sigma = 0;
    // The part of it, in squares, that comes from kernels far from measured shapes.
    double distance_sigma = 0;
};
KernelSummary summarise_kernels(const Program& program, const DeviceTimings& timings);

}  // namespace orrery
