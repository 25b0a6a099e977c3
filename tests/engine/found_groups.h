// SPDX-License-Identifier: Apache-2.0
// The groups and the bundles that the executor would run with.
#pragma once

#include "engine/world/bundles.h"
#include "engine/world/lockstep_groups.h"
#include "engine/world/time_alone.h"
#include "network/fluid/fluid.h"

namespace orrery {

struct FoundGroups {
    LockstepGroups groups;
    Bundles bundles;
};

inline FoundGroups groups_and_bundles_of(const SimulationInput& input) {
    const Tapes tapes = build_tapes(*input.program, input.launch_cost);
    Transfers transfers = plan_transfers(*input.program, tapes, *input.network);
    time_messages_alone(*input.network, transfers);
    const Partition partition = coarsest_partition(input, transfers);
    FluidRates rates{input.network->links()};
    const Quotient quotient = make_quotient(input, transfers, partition, rates);
    const LockstepGroups groups = find_lockstep_groups(input, tapes, transfers, quotient);
    return {groups, find_bundles(input, tapes, transfers, quotient, groups, rates)};
}

inline LockstepGroups lockstep_groups_of(const SimulationInput& input) {
    return groups_and_bundles_of(input).groups;
}

}  // namespace orrery
