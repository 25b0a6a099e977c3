// SPDX-License-Identifier: Apache-2.0
// `orrery explain SCENARIO`: what limits it, and which change would help most; with --program, what
// its GPUs do in a step, op by op; with --layouts, how the tensors of that lie on the GPUs.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct ExplainArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::uint64_t keep = 5;
    std::string calibration_file;  // facts that measured steps told
    bool program = false;          // the Program's text instead (engine/program/program_text.h)
    bool layouts = false;     // how its tensors lie instead (scenarios/studies/explain/layouts.h)
    std::int64_t stage = -1;  // of this pipeline stage only; -1: of all
    std::uint32_t jobs = 0;   // changes at a time; 0: one a core
};

int explain_command(const ExplainArguments& arguments);

// `orrery explain --program` and `--layouts`: what the GPUs do in a step, and how its tensors lie.
// Returns the exit status.
int explain_program(const ExplainArguments& arguments);

}  // namespace orrery
