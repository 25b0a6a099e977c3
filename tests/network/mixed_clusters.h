// SPDX-License-Identifier: Apache-2.0
// Clusters of two kinds of nodes.
#pragma once

#include "network/fabric/fabric.h"
#include "tests/network/dgx_clusters.h"

namespace orrery {

inline ClusterSpec two_kinds(std::uint32_t first_nodes,
                             const NodeSpec& first,
                             std::uint32_t second_nodes,
                             const NodeSpec& second) {
    ClusterSpec cluster = cluster_of(
        first_nodes + second_nodes, first, with_nics(Bandwidth::bits_per_second(200'000'000'000)));
    cluster.kinds = {{.node = first, .num_nodes = first_nodes},
                     {.node = second, .num_nodes = second_nodes}};
    return cluster;
}

// 25 Gb/s, without losses; a message takes 20 us.
inline FabricSpec plain_ethernet() {
    FabricSpec ethernet = with_nics(Bandwidth::bits_per_second(25'000'000'000));
    ethernet.nics_per_node = 1;
    ethernet.message_latency = Time::picoseconds(20'000'000);
    return ethernet;
}

inline ClusterSpec with_classes(ClusterSpec cluster, NicClass first, NicClass second) {
    cluster.kinds[0].nic_class = first;
    cluster.kinds[1].nic_class = second;
    cluster.ethernet = plain_ethernet();
    return cluster;
}

}  // namespace orrery
