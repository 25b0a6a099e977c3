// SPDX-License-Identifier: Apache-2.0
// What a command says about faults of its scenario that it does not use, and about old keys.
#pragma once

#include "scenarios/format/specs/fault_use.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// A line on standard error for each key in its old spelling.
void note_old_keys(const Scenario& scenario);

// The old keys, and one line on standard error if there are such faults: reports on standard output
// stay what they are.
void note_faults_left_out(const Scenario& scenario, FaultUser user);
void note_faults_left_out(const std::vector<FaultLeftOut>& left_out);

}  // namespace orrery
