// SPDX-License-Identifier: Apache-2.0
// What a command says about faults of its scenario that it does not use.
#pragma once

#include "scenarios/format/specs/fault_use.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// One line on standard error, if there are any: reports on standard output stay what they are.
void note_faults_left_out(const Scenario& scenario, FaultUser user);
void note_faults_left_out(const std::vector<FaultLeftOut>& left_out);

}  // namespace orrery
