// SPDX-License-Identifier: Apache-2.0
// The waits of some ranks in a step with faults: the rank at the first fault, one neighbour of it
// along each axis of the mesh, and one rank that shares no group with it. A wait is the time
// between a rank's arrival at a collective or exchange and the arrival of its last peer.
#pragma once

#include <vector>

#include "engine/faults/fault_process.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct WatchedRank {
    RankId rank{};
    std::string relation;  // "slow", "tp neighbour", "no common group"
};

// Empty without faults, or if the fault is at no rank.
std::vector<WatchedRank> watched_ranks(const Program& program,
                                       const Scenario& scenario,
                                       const std::vector<FaultEvent>& faults);

// `trace` is ordered by (rank, start) and includes the last step of the watched ranks.
std::vector<RankWait> rank_waits(const Program& program,
                                 const std::vector<TracedOp>& trace,
                                 const std::vector<WatchedRank>& watched);

}  // namespace orrery
