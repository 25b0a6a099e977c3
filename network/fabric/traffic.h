// SPDX-License-Identifier: Apache-2.0
// Traffic patterns for tests of networks. All flows start at once, with one message each.
//   ring          rank r to r + 1, the last to the first
//   rail          rank r to the same GPU of the next node, so that no flow leaves its rail
//   permutation   one random cycle through all ranks (Sattolo, 1986): each sends and receives once
//   incast        every other rank to rank 0
//   outcast       rank 0 to every other rank
//   pairs         rank r to r + n/2 for the lower half of ranks: the load of a bisection
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"

namespace orrery {

enum class TrafficPattern : std::uint8_t { ring, rail, permutation, incast, outcast, pairs };
std::string_view name(TrafficPattern pattern);

struct RankPair {
    RankId from{};
    RankId to{};
    bool operator==(const RankPair&) const = default;
};

// The pairs of ranks 0 … num_ranks-1, in ascending order of senders. Empty for fewer than two
// ranks.
std::vector<RankPair> traffic(TrafficPattern pattern,
                              std::uint32_t num_ranks,
                              std::uint32_t ranks_per_node,
                              std::uint64_t seed);

}  // namespace orrery
