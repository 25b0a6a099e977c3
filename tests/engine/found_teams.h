// SPDX-License-Identifier: Apache-2.0
// The teams and the bundles that the executor would run with.
#pragma once

#include "engine/bundles.h"
#include "engine/contention.h"
#include "engine/teams.h"
#include "network/fluid.h"

namespace orrery {

struct FoundTeams {
    Teams teams;
    Bundles bundles;
};

inline FoundTeams teams_and_bundles_of(const SimulationInput& input) {
    const Tapes tapes = build_tapes(*input.program, input.launch_cost);
    Transfers transfers = plan_transfers(*input.program, tapes, *input.network);
    const std::vector<bool> contended =
        find_contended_links(*input.program, tapes, *input.network, transfers);
    const Partition partition = coarsest_partition(input, transfers, contended);
    FluidRates rates{input.network->links()};
    const Quotient quotient = make_quotient(input, transfers, partition, contended, rates);
    const Teams teams = find_teams(input, tapes, transfers, quotient);
    return {teams, find_bundles(input, tapes, transfers, quotient, teams, rates)};
}

inline Teams teams_of(const SimulationInput& input) {
    return teams_and_bundles_of(input).teams;
}

}  // namespace orrery
