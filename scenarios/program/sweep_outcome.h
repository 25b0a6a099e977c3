// SPDX-License-Identifier: Apache-2.0
// What `orrery sweep` shows of a study's points.
#pragma once

#include "scenarios/program/sweep.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

// Whether every point failed: the study's mistake.
bool no_answers(const SweepOutcome& outcome);

// Notes the faults that no point uses, of the scenarios as they are; a point that changes them says
// so in its own answer.
void note_faults_of_study(const Study& study);

// Prints the outcome, or the mistake. Returns the exit status.
int show_outcome(const SweepArguments& arguments, const Study& study, const SweepOutcome& outcome);

}  // namespace orrery
