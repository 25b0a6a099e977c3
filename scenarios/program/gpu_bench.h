// SPDX-License-Identifier: Apache-2.0
// `orrery gpu-bench`: everything about the GPU of this machine in one go. What was built, whether
// each kernel computes what the CPU's does, how fast models train beside what is predicted, and
// PyTorch on the same model where a python3 has it. Each of these is a stage in a process of its
// own, with a time limit; what a stage found is printed and written at once, and one that fails
// does not end the others. Without a GPU it says so and stops.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/studies/measure/bench_stages.h"

namespace orrery {

struct GpuBenchArguments {
    std::vector<std::string> files;  // scenarios; empty: the GPT-2 ones
    std::vector<std::string> overrides;
    std::string folder = "build/gpu-bench";  // for profiles and the table of steps
    std::int64_t steps = 10;
    std::int64_t limit_s = 300;  // of a training
    std::string from;            // the stage to begin with; empty: the first
    std::string only;            // what runs in this process: "checks" or "train"; empty: all
    std::uint64_t first_comparison = 0;
    std::string device = "cuda";
    bool torch = true;
    bool torch_eager = false;  // without torch.compile
    bool checks_only = false;
    bool profile = true;  // of kernels and collectives on all GPUs, at the end
    std::string program;  // that runs the stages; empty: this one
};

// Returns the exit status: kExitUserError without a GPU, kExitCheckFailed where a stage failed or
// found a kernel that computes wrongly.
int gpu_bench_command(const GpuBenchArguments& arguments);

inline constexpr int kExitCheckFailed = kStatusOfWrongResults;

// The fastest of the lines "tokens/s NUMBER HOW" of gpt2_torch.py beside Orrery's own rate (0:
// none).
std::string torch_conclusion(const std::string& output, double own_tokens_per_second);

Command describe_gpu_bench();

}  // namespace orrery
