// SPDX-License-Identifier: Apache-2.0
// Channels that mostly have their links to themselves: a tensor-parallel group's, which shares its
// node's switch with a few reductions of norm gradients a step. Their transfers are not worth a
// solver: while nothing else moves over their links they end when they would alone. Only when
// something comes does such a transfer become a flow, as far as it has got
// (engine/exclusive_transfers.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/folding.h"
#include "engine/transfers.h"

namespace orrery {

// What the solver knows of each part: `footprints[footprint_of_part[p]]`, or UINT32_MAX if nothing.
struct PartFootprints {
    std::vector<std::uint32_t> footprint_of_part;
    std::vector<std::vector<LinkShare>> footprints;
};

// Sets Quotient::neighbours and the fields of ChannelClass that belong to it. A channel qualifies
// if each of its transfers is one flow that its links let go at its full rate, whatever happens in
// the step, and if no more transfers of others than its own share a link with it in a step.
void find_exclusive_channels(const Transfers& transfers,
                             std::span<const LinkInfo> links,
                             const PartFootprints& parts,
                             Quotient& quotient);

}  // namespace orrery
