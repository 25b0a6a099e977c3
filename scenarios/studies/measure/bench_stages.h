// SPDX-License-Identifier: Apache-2.0
// The stages of `orrery gpu-bench`, one after the other, each in a process of its own. A stage that
// fails ends nothing but itself: it is tried again without some of the kernels, and what follows is
// run with the kernels that worked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenarios/studies/measure/stage_process.h"

namespace orrery {

// Of a stage that ran to its end, and found that something computes wrongly.
inline constexpr int kStatusOfWrongResults = 3;

struct BenchStage {
    std::string name;  // "checks", "train:gpt2-124m-1gpu"
    StageCommand command;
    // Its comparisons are numbered: when one ends the process, another goes on behind it. The
    // number to begin with is the command's last word.
    bool is_numbered = false;
    bool uses_kernels = false;  // and may be tried again without some of them
    // A last line, from all that the stage has printed.
    std::function<std::string(const std::string& output)> conclusion = {};
};

struct StageOutcome {
    std::string name;
    StageEnd end;
    std::string without;  // what was left out (runtime/cuda/cuda_features.h)
    int failed = 0;       // comparisons that ended their process
    bool ok() const { return end.ok() && failed == 0; }
};

using StageRunner = std::function<Result<StageEnd>(
    const StageCommand&, const std::function<void(const std::string&)>& output)>;

// `without` is what is left out from the beginning. An error if a process cannot be started.
Result<std::vector<StageOutcome>> run_stages(const std::vector<BenchStage>& stages,
                                             std::string without,
                                             const StageRunner& run,
                                             const std::function<void(const std::string&)>& print);

// What to leave out next, beside `without`, where that was not enough; empty if there is nothing
// more. First Hopper's own instructions, which are the likeliest to fault; all in the end.
std::string leave_out_more(const std::string& without);

}  // namespace orrery
