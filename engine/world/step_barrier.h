// SPDX-License-Identifier: Apache-2.0
// A step's *barrier* is a collective of all ranks (the reduction of the gradients' norm) with one
// property: every other item of every rank has ended before the rank arrives there, or cannot start
// before the barrier has ended. The barrier ends on all ranks at one instant, with nothing in
// flight. From then on all steps are alike but for a shift of the clock, so that an execution may
// begin there. One condition remains: all launches after the barrier must be past by then, because
// the host starts a rank's first step at a different time than its later ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/program/role_tape.h"
#include "engine/world/simulation.h"
#include "engine/world/transfers.h"

namespace orrery {

struct RoleBarrier {
    std::uint32_t stream = 0;  // the stream of the barrier
    // By stream: the number of items that have ended with the barrier
    std::vector<std::uint32_t> ended;
};

// The result is by role. No value if the program has no such collective, or none that is proven to
// qualify. ConnectionMessage::uncontended_time must be set.
std::optional<std::vector<RoleBarrier>> find_step_barrier(const SimulationInput& input,
                                                          const Tapes& tapes,
                                                          const Transfers& transfers);

}  // namespace orrery
