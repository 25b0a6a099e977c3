// SPDX-License-Identifier: Apache-2.0
// Checks that a Program is well formed: ids lie inside their tables, waits name earlier ops, the
// members of a group call the same collectives in the same order, and sends pair with receives of
// equal size. The check is by role, not by rank. Deadlocks show only in a run (SimulationOutcome).
#pragma once

#include "engine/base/result.h"
#include "engine/program/program.h"

namespace orrery {

// At most a few dozen errors; empty if the program is well formed.
Errors verify(const Program& program);

// "role pp 3, slot 12 (chunk 0 forward), op 4 (all_gather)": for errors and reports.
std::string describe_op(const Program& program, RoleId role, std::uint32_t slot, std::uint32_t op);

}  // namespace orrery
