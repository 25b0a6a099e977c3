// SPDX-License-Identifier: Apache-2.0
// A small leaf-spine network of one-GPU servers: 2 leaves of `per_leaf` servers, as many spines.
#pragma once

#include "engine/base/check.h"
#include "network/fabric/fabric.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

inline Scenario leaf_spine_scenario(std::uint32_t per_leaf) {
    using namespace literals;
    Scenario scenario;
    scenario.name = "small";
    ClusterSpec& cluster = scenario.cluster;
    cluster.num_nodes = 2 * per_leaf;
    cluster.node.gpus_per_node = 1;
    cluster.node.intra_node = IntraNodeKind::pcie;
    cluster.node.pcie_bandwidth = 100_GBps;
    cluster.fabric.nics_per_node = 1;
    cluster.fabric.nic_bandwidth = 80_Gbps;
    cluster.fabric.link_latency = 1_us;
    cluster.fabric.tiers = 2;
    cluster.fabric.nodes_per_leaf_set = per_leaf;
    scenario.device.compute_capability = 90;
    scenario.device.num_sms = 132;
    return scenario;
}

inline Fabric fabric_of(const Scenario& scenario) {
    auto fabric = build_fabric(scenario.cluster);
    ORRERY_CHECK(fabric.has_value());
    return std::move(*fabric);
}

}  // namespace orrery
