// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/peer_order.h"

#include <bit>

namespace orrery {

std::vector<std::uint32_t> nccl_peer_order(std::uint32_t ranks) {
    std::vector<std::uint32_t> order;
    order.reserve(ranks);
    const std::uint64_t rounds = std::bit_ceil(std::uint64_t{ranks});
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t distance = round * (round + 1) / 2 % rounds;
        if (distance < ranks) {
            order.push_back(static_cast<std::uint32_t>(distance));
        }
    }
    return order;
}

}  // namespace orrery
