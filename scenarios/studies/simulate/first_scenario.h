// SPDX-License-Identifier: Apache-2.0
// The scenario that `orrery init` writes: a model on a cluster, with a plan that fits in memory.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/result.h"

namespace orrery {

struct FirstScenario {
    std::string model;
    std::string node;
    std::string fabric;       // of several nodes; empty: ndr400-rail
    std::uint32_t nodes = 0;  // 0: 1
    // 0: as few as fit, and 16 micro-batches a replica.
    std::uint32_t tensor = 0;
    std::uint32_t pipeline = 0;
    std::uint32_t batch = 0;
};

// The scenario as YAML. Of the plans that fit, the one with the fewest ranks to a replica; layers
// are computed again, and then weights sharded (ZeRO 3), only if no plan fits without. Errors: the
// catalogue lacks a name, the plan does not suit the model, no plan fits.
ResultOrErrors<std::string> first_scenario(const FirstScenario& wanted);

}  // namespace orrery
