// SPDX-License-Identifier: Apache-2.0
// Bundles: messages that the members of one lockstep group (engine/world/lockstep_groups.h) send at
// the same time to the members of another, each to the member with the same place. The messages
// differ only in their paths. While both groups are together and all paths are equally fast, the
// execution keeps one transfer and one flow for the whole bundle
// (engine/world/bundled_transfers.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/network_model.h"
#include "engine/world/folding.h"
#include "engine/world/lockstep_groups.h"
#include "engine/world/transfers.h"

namespace orrery {

inline constexpr std::uint32_t kNoBundle = UINT32_MAX;

struct Bundle {
    std::uint32_t first = 0;  // index into Bundles::connections
    std::uint32_t size = 0;   // number of members of either group
};

struct Bundles {
    std::vector<Bundle> bundles{};
    std::vector<ConnectionClassId> connections{};  // bundle by bundle, by place in the groups
    Table<ConnectionClassId, std::uint32_t> of_connection{};  // or kNoBundle
    // By position in Transfers::phases of a phase of a bundle's first connection: the joined flow
    // of the whole bundle. kNoLinks: the phase has no flow and takes equal time on all connections.
    std::vector<FootprintId> flows{};

    std::span<const ConnectionClassId> connections_of(const Bundle& bundle) const {
        return {connections.data() + bundle.first, bundle.size};
    }
};

// Finds the bundles, and joins their footprints in `rates`.
Bundles find_bundles(const SimulationInput& input,
                     const Tapes& tapes,
                     const Transfers& transfers,
                     const Quotient& quotient,
                     const LockstepGroups& groups,
                     SharedRates& rates);

}  // namespace orrery
