// SPDX-License-Identifier: Apache-2.0
// Notes on the faults of a scenario that a command does not use, and on old keys.
#pragma once

#include "scenarios/format/specs/fault_use.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// Prints a line on standard error for each key in its old spelling.
void note_old_keys(const Scenario& scenario);

// Prints the notes on old keys, and one line on standard error if the command does not use all
// faults. Reports on standard output do not change.
void note_faults_left_out(const Scenario& scenario, FaultUser user);
void note_faults_left_out(const std::vector<FaultLeftOut>& left_out);

}  // namespace orrery
