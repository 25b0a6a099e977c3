// SPDX-License-Identifier: Apache-2.0
// The stages of `orrery gpu-bench`, each in a process of its own. A failing stage does not end the
// others. It is tried again without some of the kernels, and later stages use only kernels that
// worked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenarios/studies/measure/stage_process.h"

namespace orrery {

// The exit status of a stage that ran to its end and found wrong results.
inline constexpr int kStatusOfWrongResults = 3;

struct BenchStage {
    std::string name;  // "checks", "train:gpt2-124m-1gpu"
    StageCommand command;
    // Its comparisons are numbered. If one ends the process, another process continues after it.
    // The first number is the command's last word.
    bool is_numbered = false;
    bool uses_kernels = false;  // it can be tried again without some kernels
    // Makes a last line from the stage's whole output.
    std::function<std::string(const std::string& output)> conclusion = {};
};

struct StageOutcome {
    std::string name;
    StageEnd end;
    std::string without;  // disabled kernels (runtime/cuda/cuda_features.h)
    int failed = 0;       // comparisons that ended their process
    bool ok() const { return end.ok() && failed == 0; }
};

using StageRunner = std::function<Result<StageEnd>(
    const StageCommand&, const std::function<void(const std::string&)>& output)>;

// `without` names the kernels that are disabled from the beginning. An error if a process cannot be
// started.
Result<std::vector<StageOutcome>> run_stages(const std::vector<BenchStage>& stages,
                                             std::string without,
                                             const StageRunner& run,
                                             const std::function<void(const std::string&)>& print);

// The next kernels to disable in addition to `without`; empty if there are no more. Hopper's own
// instructions come first, because they are the likeliest to fail; all kernels come last.
std::string leave_out_more(const std::string& without);

}  // namespace orrery
