// SPDX-License-Identifier: Apache-2.0
// `orrery explain SCENARIO`: the limits of a scenario, and the change that would help most.
// --program prints the ops of its GPUs in a step. --layouts prints the layouts of their tensors.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct ExplainArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::uint64_t keep = 5;
    std::string calibration_file;  // written by `orrery validate --calibrate-with`; empty: none
    bool program = false;     // print the Program's text instead (engine/program/program_text.h)
    bool layouts = false;     // print the layouts instead (scenarios/studies/explain/layouts.h)
    std::int64_t stage = -1;  // only this pipeline stage; -1: all
    std::uint32_t jobs = 0;   // changes simulated at the same time; 0: one a core
};

int explain_command(const ExplainArguments& arguments);

// `orrery explain --program` and `--layouts`: the ops of the GPUs in a step, and the layouts of
// their tensors. Returns the exit status.
int explain_program(const ExplainArguments& arguments);

}  // namespace orrery
