// SPDX-License-Identifier: Apache-2.0
// The blocks of a trace of requests that a store of limited capacity holds when they are asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/serving/cache_tiers.h"

namespace orrery {

using Trace = std::vector<std::vector<std::uint64_t>>;  // hashes of each request's blocks, in order

// Leading blocks of each request that the store has; then each block is used in its order.
inline std::int64_t hits_of(const Trace& trace, std::int64_t capacity, EvictionPolicy policy) {
    BlockStore store(capacity, policy);
    std::int64_t hits = 0;
    for (const auto& request : trace) {
        hits += std::ranges::find_if(request,
                                     [&](std::uint64_t hash) { return !store.contains(hash); }) -
                request.begin();
        for (const std::uint64_t hash : request) {
            if (store.contains(hash)) {
                store.touch(hash);
            } else {
                store.insert({.hash = hash});
            }
        }
    }
    return hits;
}

}  // namespace orrery
