// SPDX-License-Identifier: Apache-2.0
// Slices of a trace (engine/world/simulation.h).
#pragma once

#include <algorithm>
#include <span>

#include "engine/world/simulation.h"

namespace orrery {

// The ops of one rank. `ops` must be ordered by rank.
inline std::span<const TracedOp> ops_of_rank(std::span<const TracedOp> ops, RankId rank) {
    const auto first = std::ranges::lower_bound(ops, rank, {}, &TracedOp::rank);
    const auto last = std::ranges::upper_bound(first, ops.end(), rank, {}, &TracedOp::rank);
    return {first, last};
}

}  // namespace orrery
