// SPDX-License-Identifier: Apache-2.0
// `orrery gpu-bench`: everything about the GPU of this machine in one go. What was built, whether
// each kernel computes what the CPU's does, how fast models train beside what is predicted, and
// PyTorch on the same model where a python3 has it. Without a GPU it says so and stops.
#pragma once

#include <string>
#include <vector>

#include "scenarios/commands/command.h"

namespace orrery {

struct GpuBenchArguments {
    std::vector<std::string> files;  // scenarios; empty: the GPT-2 ones
    std::vector<std::string> overrides;
    std::string folder = "build/gpu-bench";  // for the profiles
    std::int64_t steps = 20;
    bool torch = true;
    bool checks_only = false;
    bool profile = true;  // of kernels and collectives on all GPUs, at the end
};

// Returns the exit status: kExitUserError without a GPU, kExitCheckFailed where a kernel is wrong.
int gpu_bench_command(const GpuBenchArguments& arguments);

inline constexpr int kExitCheckFailed = 3;

Command describe_gpu_bench();

}  // namespace orrery
