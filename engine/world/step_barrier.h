// SPDX-License-Identifier: Apache-2.0
// A step's *barrier*: a collective of all ranks (the reduction of the gradients' norm) such that
// every other item of every rank either has to have ended before the rank arrives there or cannot
// start before it has ended. When it ends it does so on all ranks at one instant, nothing is in
// flight, and what happens from then on is the same in each step but for one shift of the clock: an
// execution may as well begin there. Left to show is that launches of what follows the barrier are
// past by then, for the host started each rank's first step at another time than its later ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/program/role_tape.h"
#include "engine/world/simulation.h"
#include "engine/world/transfers.h"

namespace orrery {

struct RoleBarrier {
    std::uint32_t stream = 0;          // the barrier's own
    std::vector<std::uint32_t> ended;  // by stream: the items that have ended with the barrier
};

// By role; nothing if the program has no such collective, or none that is shown to qualify.
// ConnectionMessage::uncontended_time has to be known.
std::optional<std::vector<RoleBarrier>> find_step_barrier(const SimulationInput& input,
                                                          const Tapes& tapes,
                                                          const Transfers& transfers);

}  // namespace orrery
