// SPDX-License-Identifier: Apache-2.0
// Well-known servers and round-numbered networks for tests (the catalogue has the documented ones).
#pragma once

#include <vector>

#include "engine/base/check.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/fabric.h"

namespace orrery {

inline NodeSpec dgx_h100() {
    NodeSpec node;
    node.name = "dgx-h100";
    node.nvlink_bandwidth = Bandwidth::bytes_per_second(450'000'000'000);
    node.nvls = true;
    node.pcie_bandwidth = Bandwidth::bytes_per_second(64'000'000'000);
    return node;
}

inline NodeSpec dgx_a100() {
    NodeSpec node;
    node.name = "dgx-a100";
    node.nvlink_bandwidth = Bandwidth::bytes_per_second(300'000'000'000);
    node.pcie_bandwidth = Bandwidth::bytes_per_second(32'000'000'000);
    node.amd_cpu = true;
    return node;
}

inline NodeSpec dgx_b200() {
    NodeSpec node = dgx_h100();
    node.name = "dgx-b200";
    node.nvlink_bandwidth = Bandwidth::bytes_per_second(900'000'000'000);
    return node;
}

// Every pair of the eight GPUs is connected: 6 links of 25 GB/s a GPU in all.
inline NodeSpec v100_mesh() {
    NodeSpec node = dgx_a100();
    node.name = "v100-mesh";
    node.intra_node = IntraNodeKind::nvlink_mesh;
    node.nvlink_bandwidth = Bandwidth::bytes_per_second(150'000'000'000);
    return node;
}

inline NodeSpec pcie_server() {
    NodeSpec node = dgx_a100();
    node.name = "pcie-server";
    node.intra_node = IntraNodeKind::pcie;
    node.nvlink_bandwidth = Bandwidth{};
    node.amd_cpu = false;
    return node;
}

inline FabricSpec with_nics(Bandwidth bandwidth) {
    FabricSpec fabric;
    fabric.kind = FabricKind::single_switch;
    fabric.nic_bandwidth = bandwidth;
    return fabric;
}

inline ClusterSpec cluster_of(std::uint32_t nodes, const NodeSpec& node, const FabricSpec& fabric) {
    ClusterSpec cluster;
    cluster.num_nodes = nodes;
    cluster.node = node;
    cluster.fabric = fabric;
    return cluster;
}

inline Fabric built(const ClusterSpec& cluster) {
    auto fabric = build_fabric(cluster);
    ORRERY_CHECK(fabric.has_value());
    return std::move(fabric.value());
}

// Leaf sets of four nodes under ECMP, so that flows have paths to choose from.
inline ClusterSpec ecmp_cluster(std::uint32_t nodes, const NodeSpec& node) {
    ClusterSpec cluster = cluster_of(nodes, node, {});
    cluster.fabric.kind = FabricKind::clos;
    cluster.fabric.nic_bandwidth = Bandwidth::bits_per_second(400'000'000'000);
    cluster.fabric.tiers = 2;
    cluster.fabric.nodes_per_leaf_set = 4;
    return cluster;
}

inline std::vector<RankId> first_ranks(std::uint32_t n) {
    std::vector<RankId> ranks;
    for (std::uint32_t i = 0; i < n; ++i) {
        ranks.push_back(to_id<RankId>(i));
    }
    return ranks;
}

}  // namespace orrery
