// SPDX-License-Identifier: Apache-2.0
// `orrery sweep STUDY.yaml`: the points of a study, on all cores, under mpirun, or a shard of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/views.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

struct SweepArguments : ViewArguments {
    std::string file;
    std::string results;  // empty: <study>.sqlite in the current folder
    std::string shard;
    std::uint32_t jobs = 0;  // 0: all cores
};

int sweep_command(const SweepArguments& arguments);

// The options of `orrery sweep`.
std::vector<CommandOption> sweep_options(SweepArguments& arguments);

// Whether every point failed: the study's mistake.
bool no_answers(const SweepOutcome& outcome);

// Notes the faults that no point uses, of the scenarios as they are; a point that changes them says
// so in its own answer.
void note_faults_of_study(const Study& study);

// Prints the outcome, or the mistake. Returns the exit status.
int show_outcome(const SweepArguments& arguments, const Study& study, const SweepOutcome& outcome);

}  // namespace orrery
