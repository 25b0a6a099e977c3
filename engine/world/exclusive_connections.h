// SPDX-License-Identifier: Apache-2.0
// Connections that have their links mostly to themselves. A tensor-parallel group, for example,
// shares its node's switch only with a few reductions of gradient norms a step. Its transfers need
// no rate solver: while no other transfer uses their links, they end after their uncontended time.
// When another transfer starts on a link, they become flows with the bytes that are left
// (engine/world/exclusive_transfers.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/world/folding.h"
#include "engine/world/transfers.h"

namespace orrery {

// The footprint of each part in the solver: `footprints[footprint_of_part[p]]`; UINT32_MAX: the
// solver does not see the part.
struct PartFootprints {
    std::vector<std::uint32_t> footprint_of_part;
    std::vector<std::vector<LinkShare>> footprints;
};

// Sets Quotient::neighbours and the related fields of ConnectionClass. A connection qualifies under
// two conditions. Each of its transfers is one flow at its full rate, whatever happens in the step.
// And in a step, it has at least as many transfers as the other connections that share a link with
// it.
void find_exclusive_connections(const Transfers& transfers,
                                std::span<const LinkInfo> links,
                                const PartFootprints& parts,
                                Quotient& quotient);

}  // namespace orrery
