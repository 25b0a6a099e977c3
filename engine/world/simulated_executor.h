// SPDX-License-Identifier: Apache-2.0
// The simulated executor: times a Program on modelled devices and a modelled network, by the rules
// of engine/world/simulation.h. It verifies the program (engine/program/verifier.h), unrolls the
// roles (role_tape.h), plans every transfer (transfers.h), folds (folding.h), and runs the steps in
// a world (world.h) over rank classes.
#pragma once

#include "engine/world/simulation.h"

namespace orrery {

// `rates` must be fresh and have input.network's links. An Error if the program is not well formed
// or can make no progress.
SimulationOutcome simulate(const SimulationInput& input, SharedRates& rates);

}  // namespace orrery
