// SPDX-License-Identifier: Apache-2.0
// The order of the nodes with the shortest step of a plan, by simulated annealing (Pipette, Yim et
// al., DATE 2024, section V). If links between nodes differ, ranks that exchange much should be on
// nodes with fast connections. Every order is simulated on the scenario's network, so that the step
// itself decides.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct PlaceOptions {
    std::int64_t tries = 200;  // number of tried orders; repeated orders are not simulated
    std::uint64_t seed = 1;
    std::function<void(double)> progress{};
    // Called between simulations. True: return the best order found so far.
    std::function<bool()> stop{};
};

struct PlacedNodes {
    std::vector<std::uint32_t> order;  // nodes in the order of ranks (cluster.node_order)
    Answer answer;                     // of the step in this order
    Answer before;                     // in the scenario's own order
    std::int64_t simulations = 0;      // of different orders
    bool interrupted = false;          // by PlaceOptions::stop
};

// Errors: there is no choice (one node, nodes of several kinds, a job on parts of nodes), or the
// plan does not fit into memory.
Result<PlacedNodes> place_nodes(const Scenario& scenario, const PlaceOptions& options = {});

}  // namespace orrery
