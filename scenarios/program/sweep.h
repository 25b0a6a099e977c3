// SPDX-License-Identifier: Apache-2.0
// `orrery sweep STUDY.yaml`: computes the points of a study, on all cores, under mpirun, or as a
// shard.
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

// Whether every point failed. The study is then wrong.
bool no_answers(const SweepOutcome& outcome);

// Prints a note on the faults of the scenarios that no point uses. A point that changes them
// reports it in its own answer.
void note_faults_of_study(const Study& study);

// Prints the outcome or the error. Returns the exit status.
int show_outcome(const SweepArguments& arguments, const Study& study, const SweepOutcome& outcome);

}  // namespace orrery
