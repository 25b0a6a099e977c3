// SPDX-License-Identifier: Apache-2.0
// Connections that mostly have their links to themselves: a tensor-parallel group shares its node's
// switch only with a few reductions of norm gradients a step. Their transfers are not worth a
// solver: while nothing else moves over their links they end after their uncontended time. When
// another transfer comes, they become flows, as far as they have got
// (engine/world/exclusive_transfers.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/world/folding.h"
#include "engine/world/transfers.h"

namespace orrery {

// What the solver knows of each part: `footprints[footprint_of_part[p]]`, or UINT32_MAX if nothing.
struct PartFootprints {
    std::vector<std::uint32_t> footprint_of_part;
    std::vector<std::vector<LinkShare>> footprints;
};

// Sets Quotient::neighbours and the fields of ConnectionClass that belong to it. A connection
// qualifies if each of its transfers is one flow that its links let go at its full rate, whatever
// happens in the step, and if no more transfers of others than its own share a link with it in a
// step.
void find_exclusive_connections(const Transfers& transfers,
                                std::span<const LinkInfo> links,
                                const PartFootprints& parts,
                                Quotient& quotient);

}  // namespace orrery
