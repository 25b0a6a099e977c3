// SPDX-License-Identifier: Apache-2.0
// Where two executors' traces first part.
#pragma once

#include <string>
#include <vector>

#include "engine/world/simulation.h"

namespace orrery::reference {

// Of the ops that differ, the one that ended first: the others may only follow from it. Empty if
// the traces have the same ops at the same times, in whatever order.
std::string first_difference(std::vector<TracedOp> expected, std::vector<TracedOp> actual);

// Of what holds for the last step alone, whatever was simulated before it: its ops' times count
// from the end of the last step but one. For results of the simulated executor.
std::string last_step_difference(const SimulationResult& expected, const SimulationResult& actual);

}  // namespace orrery::reference
