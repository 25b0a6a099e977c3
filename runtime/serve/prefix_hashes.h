// SPDX-License-Identifier: Apache-2.0
// The keys of the full blocks of a prompt in the prefix cache (engine/serving/block_pool.h): a hash
// of all tokens up to the block's end. The salt prevents clients from choosing prompts with equal
// hashes, which would share each other's keys and values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/splitmix.h"

namespace orrery {

inline std::vector<std::uint64_t> prefix_hashes(std::span<const std::int32_t> tokens,
                                                std::int64_t block_size,
                                                std::uint64_t salt,
                                                std::int32_t adapter = -1) {
    if (adapter >= 0) {  // keys and values of an adapter are its own
        salt = splitmix64(salt + 1 + static_cast<std::uint32_t>(adapter));
    }
    std::vector<std::uint64_t> hashes;
    std::uint64_t hash = splitmix64(salt);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        hash = splitmix64(hash ^ splitmix64(salt + static_cast<std::uint32_t>(tokens[i])));
        if ((static_cast<std::int64_t>(i) + 1) % block_size == 0) {
            hashes.push_back(hash);
        }
    }
    return hashes;
}

}  // namespace orrery
