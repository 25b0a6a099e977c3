// SPDX-License-Identifier: Apache-2.0
// `orrery gpu-bench`: everything about the GPU of this machine in one go
// (scenarios/studies/measure/gpu_bench.h). What a stage found is printed and written at once.
// Without a GPU it says so and stops.
#pragma once

#include <vector>

#include "scenarios/program/views.h"
#include "scenarios/studies/measure/gpu_bench.h"

namespace orrery {

struct GpuBenchArguments : ViewArguments {
    GpuBenchSpec spec;
};

// Returns the exit status: kExitUserError without a GPU, kExitCheckFailed where a stage failed or
// found a kernel that computes wrongly.
int gpu_bench_command(const GpuBenchArguments& arguments);

inline constexpr int kExitCheckFailed = kStatusOfWrongResults;

// The options of `orrery gpu-bench`.
std::vector<CommandOption> gpu_bench_options(GpuBenchArguments& arguments);

}  // namespace orrery
