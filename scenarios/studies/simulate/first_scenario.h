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
    std::string fabric;       // for several nodes; empty: ndr400-rail
    std::uint32_t nodes = 0;  // 0: 1
    // 0: the fewest ranks that fit, and 16 micro-batches a replica.
    std::uint32_t tensor = 0;
    std::uint32_t pipeline = 0;
    std::uint32_t batch = 0;
};

// The scenario as YAML. It has the fitting plan with the fewest ranks for each replica. Layers are
// recomputed, and then weights sharded (ZeRO 3), only if no other plan fits. Errors: the catalogue
// lacks a name, the plan does not suit the model, no plan fits.
ResultOrErrors<std::string> first_scenario(const FirstScenario& wanted);

}  // namespace orrery
