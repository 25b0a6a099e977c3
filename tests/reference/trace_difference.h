// SPDX-License-Identifier: Apache-2.0
// Where two executors' traces first part.
#pragma once

#include <string>
#include <vector>

#include "engine/simulation.h"

namespace orrery::reference {

// Of the ops that differ, the one that ended first: the others may only follow from it. Empty if
// the traces have the same ops at the same times, in whatever order.
std::string first_difference(std::vector<TracedOp> expected, std::vector<TracedOp> actual);

}  // namespace orrery::reference
