// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/traffic.h"

#include <Random123/philox.h>

#include <numeric>
#include <utility>

namespace orrery {
namespace {

// A random number below n, the same on every machine: the high half of a 64-bit random number times
// n.
std::uint32_t random_below(std::uint64_t seed, std::uint32_t index, std::uint32_t n) {
    constexpr std::uint32_t kPurpose = 0x74726166;  // "traf"
    const r123::Philox4x32 philox;
    const auto words = philox(r123::Philox4x32::ctr_type{{index, 0, 0, kPurpose}},
                              r123::Philox4x32::key_type{{static_cast<std::uint32_t>(seed),
                                                          static_cast<std::uint32_t>(seed >> 32)}});
    const std::uint64_t word = std::uint64_t{words[0]} << 32 | words[1];
    return static_cast<std::uint32_t>(static_cast<unsigned __int128>(word) * n >> 64);
}

// Sattolo's shuffle: each rank's successor on one cycle through all.
std::vector<std::uint32_t> random_cycle(std::uint32_t n, std::uint64_t seed) {
    std::vector<std::uint32_t> next(n);
    std::iota(next.begin(), next.end(), 0U);
    for (std::uint32_t i = n - 1; i > 0; --i) {
        std::swap(next[i], next[random_below(seed, i, i)]);
    }
    return next;
}

}  // namespace

std::string_view name(TrafficPattern pattern) {
    switch (pattern) {
        case TrafficPattern::ring:
            return "ring";
        case TrafficPattern::rail:
            return "rail";
        case TrafficPattern::permutation:
            return "permutation";
        case TrafficPattern::incast:
            return "incast";
        case TrafficPattern::outcast:
            return "outcast";
        case TrafficPattern::pairs:
            return "pairs";
    }
    return "";
}

std::vector<RankPair> traffic(TrafficPattern pattern,
                              std::uint32_t num_ranks,
                              std::uint32_t ranks_per_node,
                              std::uint64_t seed) {
    std::vector<RankPair> pairs;
    const auto add = [&](std::uint32_t from, std::uint32_t to) {
        if (from != to) {
            pairs.push_back({to_id<RankId>(from), to_id<RankId>(to)});
        }
    };
    if (num_ranks < 2) {
        return pairs;
    }
    std::vector<std::uint32_t> cycle;
    if (pattern == TrafficPattern::permutation) {
        cycle = random_cycle(num_ranks, seed);
    }
    for (std::uint32_t rank = 0; rank < num_ranks; ++rank) {
        switch (pattern) {
            case TrafficPattern::ring:
                add(rank, (rank + 1) % num_ranks);
                break;
            case TrafficPattern::rail:
                add(rank, (rank + ranks_per_node) % num_ranks);
                break;
            case TrafficPattern::permutation:
                add(rank, cycle[rank]);
                break;
            case TrafficPattern::incast:
                add(rank, 0);
                break;
            case TrafficPattern::outcast:
                add(0, rank);
                break;
            case TrafficPattern::pairs:
                if (rank < num_ranks / 2) {
                    add(rank, rank + num_ranks / 2);
                }
                break;
        }
    }
    return pairs;
}

}  // namespace orrery
