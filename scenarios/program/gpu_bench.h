// SPDX-License-Identifier: Apache-2.0
// `orrery gpu-bench`: all measurements of this machine's GPU in one command
// (scenarios/studies/measure/gpu_bench.h). The results of each stage are printed and written at
// once. Without a GPU the command reports that and stops.
#pragma once

#include <vector>

#include "scenarios/program/views.h"
#include "scenarios/studies/measure/gpu_bench.h"

namespace orrery {

struct GpuBenchArguments : ViewArguments {
    GpuBenchSpec spec;
};

// Returns the exit status: kExitUserError without a GPU, kExitCheckFailed if a stage failed or
// found a wrong kernel.
int gpu_bench_command(const GpuBenchArguments& arguments);

inline constexpr int kExitCheckFailed = kStatusOfWrongResults;

// The options of `orrery gpu-bench`.
std::vector<CommandOption> gpu_bench_options(GpuBenchArguments& arguments);

}  // namespace orrery
