// SPDX-License-Identifier: Apache-2.0
// All measurements of this machine's GPU in one call: each kernel's results compared with the
// CPU's, the training speed of models compared with the prediction, and PyTorch with the same
// model. Each is a stage in a process of its own, with a time limit. A failing stage does not end
// the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/cuda/devices.h"
#include "scenarios/studies/measure/bench_stages.h"

namespace orrery {

struct GpuBenchSpec {
    std::vector<std::string> files;  // scenarios; empty: the GPT-2 ones
    std::vector<std::string> overrides;
    std::string folder = "build/gpu-bench";  // for profiles and the table of steps
    std::int64_t steps = 10;
    std::int64_t limit_s = 300;  // of a training
    std::string from;            // the first stage; empty: the first of all
    std::string only;            // stage to run in this process: "checks" or "train"; empty: all
    std::uint64_t first_comparison = 0;
    std::string device = "cuda";
    bool torch = true;
    bool torch_eager = false;  // without torch.compile
    bool checks_only = false;
    bool profile = true;  // of kernels and collectives on all GPUs, at the end
    std::string program;  // the program that runs the stages; empty: this one
};

// Called with text as it arrives, so that a later failure loses no measurement.
using Print = std::function<void(const std::string&)>;

// The build and the GPUs, a line each.
std::string bench_machine_text(const std::vector<CudaDeviceInfo>& devices);

// The stages that the processes run. The first returns the number of wrong kernels.
Result<int> run_checks_stage(const GpuBenchSpec& spec, const Print& print);
Errors run_training_stage(const GpuBenchSpec& spec, const Print& print);

// All stages, from `spec.from` on.
ResultOrErrors<std::vector<StageOutcome>> run_bench(const GpuBenchSpec& spec, const Print& print);
// Whether all stages passed. PyTorch's stage does not count.
bool bench_is_well(const std::vector<StageOutcome>& outcomes);

// Compares the fastest of the lines "tokens/s NUMBER HOW" of gpt2_torch.py with Orrery's own rate
// (0: none).
std::string torch_conclusion(const std::string& output, double own_tokens_per_second);

}  // namespace orrery
