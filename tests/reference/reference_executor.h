// SPDX-License-Identifier: Apache-2.0
// The slow executor that the fast one is judged by: the rules of engine/world/simulation.h in the
// most literal way. Every rank, op, message and transfer part stands on its own, nothing is folded,
// the clock goes from instant to instant over everything that is under way, and no code is shared
// with engine/simulated_executor or network/fluid but the plain data and kernel_rate(). Cost:
// O(instants * (running kernels + flows)) + O(changes of flows * filling rounds * footprints).
#pragma once

#include "engine/world/simulation.h"

namespace orrery::reference {

// Fills in iteration, step_end, slowest_rank (lowest of several), simulated_ops, and the trace.
SimulationOutcome reference_simulate(const SimulationInput& input);

}  // namespace orrery::reference
