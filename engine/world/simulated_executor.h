// SPDX-License-Identifier: Apache-2.0
// The simulated executor: what a Program takes on modelled devices and a modelled network, by the
// rules of engine/world/simulation.h. The way there: verify (engine/program/verifier.h), unroll the
// roles (role_tape.h), plan every transfer (transfers.h), fold (folding.h), then run the steps in a
// world (world.h) over rank classes.
#pragma once

#include "engine/world/simulation.h"

namespace orrery {

// `rates` must be fresh and know input.network's links. An Error if the program can make no
// progress, or is not well formed.
SimulationOutcome simulate(const SimulationInput& input, SharedRates& rates);

}  // namespace orrery
