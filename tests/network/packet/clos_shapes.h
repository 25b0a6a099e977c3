// SPDX-License-Identifier: Apache-2.0
// The networks of the literature that the packet model is compared with.
#pragma once

#include <cstdint>

#include "network/packet/topology.h"

namespace orrery::testing {

// k-ary fat tree (Al-Fares et al., SIGCOMM 2008): k pods of k/2 leaves of k/2 hosts, (k/2)^2 cores.
inline packet::ClosShape fat_tree(std::uint32_t k, Bandwidth rate, Time link_latency) {
    return {.hosts_per_leaf = k / 2,
            .leaves_per_block = k / 2,
            .num_blocks = k,
            .tier2_per_block = k / 2,
            .cores_per_plane = k / 2,
            .host_rate = rate,
            .host_latency = link_latency,
            .link_latency = link_latency};
}

inline packet::ClosShape leaf_spine(std::uint32_t num_leaves,
                                    std::uint32_t hosts_per_leaf,
                                    std::uint32_t num_spines,
                                    Bandwidth rate,
                                    Time link_latency) {
    return {.hosts_per_leaf = hosts_per_leaf,
            .leaves_per_block = num_leaves,
            .tier2_per_block = num_spines,
            .host_rate = rate,
            .host_latency = link_latency,
            .link_latency = link_latency};
}

}  // namespace orrery::testing
