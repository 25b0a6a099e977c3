// SPDX-License-Identifier: Apache-2.0
// The accelerations of the simulated executor by position, and random sets of them.
#pragma once

#include <array>
#include <bit>
#include <string>

#include "engine/base/has_fields.h"
#include "engine/world/simulation.h"
#include "tests/reference/dice.h"

namespace orrery::reference {

struct NamedAcceleration {
    const char* name;
    bool Accelerations::*on;
};

inline constexpr std::array kAccelerations = {
    NamedAcceleration{"folding", &Accelerations::folding},
    NamedAcceleration{"lockstep_groups", &Accelerations::lockstep_groups},
    NamedAcceleration{"bundles", &Accelerations::bundles},
    NamedAcceleration{"joined_flows", &Accelerations::joined_flows},
    NamedAcceleration{"exclusive_connections", &Accelerations::exclusive_connections},
    NamedAcceleration{"local_clocks", &Accelerations::local_clocks},
    NamedAcceleration{"step_barrier", &Accelerations::step_barrier},
};
static_assert(has_fields<Accelerations, kAccelerations.size()>());

// Those of which the bit is set in `mask`.
inline Accelerations accelerations_of(std::uint64_t mask) {
    Accelerations chosen;
    for (std::size_t i = 0; i < kAccelerations.size(); ++i) {
        chosen.*kAccelerations[i].on = (mask >> i & 1) != 0;
    }
    return chosen;
}

inline std::string describe(const Accelerations& chosen) {
    std::string text = "accelerations:";
    for (const NamedAcceleration& acceleration : kAccelerations) {
        text += chosen.*acceleration.on ? std::string{" "} + acceleration.name : "";
    }
    return text;
}

// Every second one on the average. Without the step barrier all times have one origin.
inline Accelerations drawn_accelerations(std::uint64_t seed, bool step_barrier) {
    Dice dice{seed};
    Accelerations chosen = accelerations_of(dice.next());
    chosen.step_barrier = chosen.step_barrier && step_barrier;
    return chosen;
}

}  // namespace orrery::reference
