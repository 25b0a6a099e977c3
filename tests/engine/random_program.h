// SPDX-License-Identifier: Apache-2.0
// Random programs that cannot deadlock: communication is drawn in one global order and written into
// every role that takes part; waits are drawn among earlier ops.
#pragma once

#include <cstdint>

#include "engine/world/simulation.h"
#include "tests/engine/toy_network.h"

namespace orrery {

struct RandomCase {
    Program program;
    ToyNetworkSpec network;
    SimulationInput input;  // program and network are not set
};

// symmetric: one device class, paths by place. Otherwise some ranks are slow and paths hashed.
RandomCase random_case(std::uint64_t seed, bool symmetric);

}  // namespace orrery
