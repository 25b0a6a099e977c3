// SPDX-License-Identifier: Apache-2.0
// The order of the nodes in which the step of a plan is shortest, by simulated annealing (Pipette,
// Yim et al., DATE 2024, section V): where links between nodes differ, ranks that exchange much
// should sit on nodes that reach each other well. Every order is simulated on the scenario's
// network, so that what counts is the step itself.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct PlaceOptions {
    std::int64_t tries = 200;  // orders that are tried; one that was seen before is not simulated
    std::uint64_t seed = 1;
    std::function<void(double)> progress{};
    // Asked between simulations. True: the answer is the best order so far.
    std::function<bool()> stop{};
};

struct PlacedNodes {
    std::vector<std::uint32_t> order;  // nodes, as ranks take them (cluster.node_order)
    Answer answer;                     // of the step in this order
    Answer before;                     // in the scenario's own order
    std::int64_t simulations = 0;      // of different orders
    bool interrupted = false;          // by PlaceOptions::stop
};

// Errors: nothing to place (one node, nodes of several kinds, a job of parts of nodes), or a plan
// that does not fit into memory.
Result<PlacedNodes> place_nodes(const Scenario& scenario, const PlaceOptions& options = {});

}  // namespace orrery
