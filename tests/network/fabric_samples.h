// SPDX-License-Identifier: Apache-2.0
// Clusters that the tests of the fabric share, and a small random stream to vary them.
#pragma once

#include <cstdint>

#include "network/fabric/cluster_spec.h"
#include "network/fabric/path.h"

namespace orrery::samples {

using namespace orrery::literals;

// 8 GPUs and 8 NICs of 200 Gb/s a server, three tiers, nothing oversubscribed.
inline ClusterSpec a100_cluster(std::uint32_t nodes) {
    return {
        .num_nodes = nodes,
        .node = {.gpus_per_node = 8,
                 .nvlink_bandwidth = 300_GBps,
                 .pcie_bandwidth = 32_GBps,
                 .nvlink_latency = 300_ns,
                 .pcie_latency = 500_ns},
        .fabric = {.nics_per_node = 8,
                   .nic_bandwidth = 200_Gbps,
                   .nic_latency = 1_us,
                   .link_latency = 600_ns},
    };
}

// MegaScale's network (NSDI'24): 64 x 400 Gb/s switches, split downlink ports, 64 servers a set,
// 32 down and 32 up at every tier (so four ToR sets a pod).
inline ClusterSpec megascale(std::uint32_t nodes) {
    ClusterSpec spec = a100_cluster(nodes);
    spec.fabric.nodes_per_leaf_set = 64;
    spec.fabric.leaf_sets_per_pod = 4;
    spec.fabric.uplink_bandwidth = 400_Gbps;
    spec.fabric.switch_radix = 64;
    return spec;
}

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t x = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }
    // low … high.
    std::uint32_t in(std::uint32_t low, std::uint32_t high) {
        return low + static_cast<std::uint32_t>(next() % (high - low + 1));
    }

private:
    std::uint64_t state_;
};

inline constexpr FabricKind kKinds[] = {
    FabricKind::clos, FabricKind::rail, FabricKind::single_switch};

// A small fabric of the given kind that build_fabric accepts: uplink counts come out whole.
inline ClusterSpec random_cluster(Random& random, FabricKind kind) {
    ClusterSpec spec = a100_cluster(random.in(1, 14));
    FabricSpec& fabric = spec.fabric;
    fabric.kind = kind;
    fabric.nics_per_node = 1U << random.in(0, 2);
    fabric.tiers = random.in(2, 3);
    fabric.nodes_per_leaf_set = 2 * random.in(1, 3);
    fabric.leaf_sets_per_pod = random.in(1, 3);
    fabric.multi_rail = random.in(0, 1) == 1;
    fabric.uplink_cables = random.in(1, 2);
    fabric.core_cables = random.in(1, 2);
    fabric.uplink_bandwidth = random.in(0, 1) == 1 ? 200_Gbps : 100_Gbps;
    fabric.oversubscription = 1.0;
    fabric.core_bandwidth = random.in(0, 1) == 1 ? Bandwidth{} : 100_Gbps;
    fabric.spine_oversubscription = 1.0 / fabric.core_cables;
    fabric.hash_seed = random.next();
    spec.node.gpus_per_node = 1U << random.in(0, 3);
    spec.node.intra_node = static_cast<IntraNodeKind>(random.in(0, 2));
    spec.node.num_sockets = random.in(1, 2);
    spec.node.socket_bandwidth = random.in(0, 1) == 1 ? 20_GBps : Bandwidth{};
    return spec;
}

inline NicPort random_port(Random& random, const ClusterSpec& spec) {
    return {.node = random.in(0, spec.num_nodes - 1),
            .nic = random.in(0, spec.fabric.nics_per_node - 1)};
}

}  // namespace orrery::samples
