// SPDX-License-Identifier: Apache-2.0
// The teams that the executor would run with.
#pragma once

#include "engine/contention.h"
#include "engine/teams.h"
#include "network/fluid.h"

namespace orrery {

inline Teams teams_of(const SimulationInput& input) {
    const Tapes tapes = build_tapes(*input.program, input.launch_cost);
    Transfers transfers = plan_transfers(*input.program, tapes, *input.network);
    const std::vector<bool> contended =
        find_contended_links(*input.program, tapes, *input.network, transfers);
    const Partition partition = coarsest_partition(input, transfers, contended);
    FluidRates rates{input.network->links()};
    const Quotient quotient = make_quotient(input, transfers, partition, contended, rates);
    return find_teams(input, tapes, transfers, quotient);
}

}  // namespace orrery
