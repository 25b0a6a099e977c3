// SPDX-License-Identifier: Apache-2.0
// An own order of the cluster's nodes for the job's ranks (ClusterSpec::gpu_of_rank).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "network/fabric/cluster_spec.h"

namespace orrery {

// By rank: the GPUs of the first node in the order, then those of the second, and so on.
inline std::vector<std::uint32_t> gpus_of_nodes(std::span<const std::uint32_t> nodes,
                                                std::uint32_t gpus_per_node) {
    std::vector<std::uint32_t> gpus;
    gpus.reserve(nodes.size() * gpus_per_node);
    for (const std::uint32_t node : nodes) {
        for (std::uint32_t gpu = 0; gpu < gpus_per_node; ++gpu) {
            gpus.push_back(node * gpus_per_node + gpu);
        }
    }
    return gpus;
}

// The nodes in the order in which ranks use them. Empty if ranks do not use whole nodes.
inline std::vector<std::uint32_t> node_order_of(const ClusterSpec& cluster) {
    const std::uint32_t per_node = cluster.node.gpus_per_node;
    std::vector<std::uint32_t> nodes;
    if (cluster.num_ranks() != cluster.num_gpus()) {
        return nodes;
    }
    for (std::uint32_t rank = 0; rank < cluster.num_ranks(); rank += per_node) {
        nodes.push_back(cluster.node_of(rank));
    }
    const std::vector<std::uint32_t> gpus = gpus_of_nodes(nodes, per_node);
    const bool whole = cluster.gpu_of_rank.empty() || std::ranges::equal(gpus, cluster.gpu_of_rank);
    return whole ? nodes : std::vector<std::uint32_t>{};
}

}  // namespace orrery
