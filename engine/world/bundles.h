// SPDX-License-Identifier: Apache-2.0
// Bundles: the messages that the members of a lockstep group (engine/world/lockstep_groups.h) send
// at once to the members of another group, each to the member in its own place. The messages are
// alike in everything but their paths. While both groups are together and no path is slower than
// the others, the execution keeps one transfer and one flow for all of them
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
    std::uint32_t first = 0;  // Bundles::connections
    std::uint32_t size = 0;   // of both groups
};

struct Bundles {
    std::vector<Bundle> bundles{};
    std::vector<ConnectionClassId> connections{};  // bundle by bundle, by place in the groups
    Table<ConnectionClassId, std::uint32_t> of_connection{};  // or kNoBundle
    // By position in Transfers::phases, of a bundle's first connection: its flows, as one.
    // kNoLinks: the phase has none, and takes equally long for all.
    std::vector<FootprintId> flows{};

    std::span<const ConnectionClassId> connections_of(const Bundle& bundle) const {
        return {connections.data() + bundle.first, bundle.size};
    }
};

// Tells `rates` which footprints go together.
Bundles find_bundles(const SimulationInput& input,
                     const Tapes& tapes,
                     const Transfers& transfers,
                     const Quotient& quotient,
                     const LockstepGroups& groups,
                     SharedRates& rates);

}  // namespace orrery
