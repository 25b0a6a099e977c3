// SPDX-License-Identifier: Apache-2.0
#include "network/node_kinds.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {

namespace {

// Two classes at most are RDMA's: an adapter of one cannot reach one of the other.
bool is_rdma(NicClass nic_class) {
    return nic_class == NicClass::infiniband || nic_class == NicClass::roce;
}

Result<void> check_alike(const ClusterSpec& spec, const NodeKind& kind) {
    const NodeSpec& first = spec.kinds.front().node;
    const NodeSpec& node = kind.node;
    if (node.gpus_per_node != first.gpus_per_node || node.trays != first.trays) {
        return fail("cluster.kinds",
                    fmt::format("{} has {} GPUs and {} has {}",
                                first.name,
                                first.gpus_per_node,
                                node.name,
                                node.gpus_per_node),
                    "kinds of nodes with the same number of GPUs (and of trays)");
    }
    const bool mesh = node.intra_node == IntraNodeKind::nvlink_mesh;
    if (mesh != (first.intra_node == IntraNodeKind::nvlink_mesh)) {
        return fail("cluster.kinds",
                    "nodes with a mesh of NVLinks and nodes without are in one cluster",
                    "intra_node: nvlink_mesh for all kinds, or for none");
    }
    if (kind.nics_per_node > spec.fabric.nics_per_node) {
        return fail("cluster.kinds",
                    fmt::format("a kind of nodes has {} NICs, and the fabric {} a node",
                                kind.nics_per_node,
                                spec.fabric.nics_per_node),
                    fmt::format("cluster.fabric.nics_per_node: {}", kind.nics_per_node));
    }
    return {};
}

// Whether every node can reach every other one.
Result<void> check_reach(const ClusterSpec& spec) {
    for (const NodeKind& a : spec.kinds) {
        for (const NodeKind& b : spec.kinds) {
            const bool said = a.nic_class != NicClass::one_fabric;
            if (said != (b.nic_class != NicClass::one_fabric)) {
                return fail("cluster.kinds",
                            "some kinds of nodes have a nic_class and some have none",
                            "nic_class: infiniband, roce or ethernet for every kind");
            }
        }
    }
    if (spec.num_nodes < 2 || spec.has_ethernet()) {
        return {};
    }
    for (const NodeKind& a : spec.kinds) {
        for (const NodeKind& b : spec.kinds) {
            if (a.nic_class == NicClass::ethernet) {
                return fail("cluster.kinds",
                            "nodes of nic_class ethernet reach no other node: the cluster has no "
                            "Ethernet",
                            "cluster.ethernet: ethernet-25");
            }
            if (a.nic_class != b.nic_class) {
                return fail("cluster.kinds",
                            fmt::format("nodes with {} and nodes with {} cannot reach each other: "
                                        "the cluster has no Ethernet",
                                        name(a.nic_class),
                                        name(b.nic_class)),
                            "cluster.ethernet: ethernet-25, which TCP between them goes over");
            }
        }
    }
    return {};
}

}  // namespace

std::string_view name(NicClass nic_class) {
    switch (nic_class) {
        case NicClass::infiniband:
            return "infiniband";
        case NicClass::roce:
            return "roce";
        case NicClass::ethernet:
            return "ethernet";
        case NicClass::one_fabric:
            break;
    }
    return "one_fabric";
}

bool speak_tcp(const ClusterSpec& spec, std::uint32_t kind_a, std::uint32_t kind_b) {
    if (spec.kinds.empty()) {
        return false;
    }
    const NicClass a = spec.kinds[kind_a].nic_class;
    const NicClass b = spec.kinds[kind_b].nic_class;
    return a != b || a == NicClass::ethernet;
}

Result<void> check_kinds(const ClusterSpec& spec) {
    if (spec.kinds.empty()) {
        return {};
    }
    std::uint64_t nodes = 0;
    for (const NodeKind& kind : spec.kinds) {
        nodes += kind.num_nodes;
        if (kind.num_nodes == 0) {
            return fail("cluster.kinds", "a kind of nodes has no nodes", "nodes: 1 or more");
        }
        if (auto checked = check_alike(spec, kind); !checked) {
            return checked;
        }
    }
    if (nodes != spec.num_nodes) {
        return fail("cluster.kinds",
                    fmt::format("the kinds have {} nodes, and the cluster {}",
                                nodes,
                                spec.num_nodes),
                    "as many nodes as the kinds have together");
    }
    const FabricSpec& ethernet = spec.ethernet;
    if (spec.has_ethernet() &&
        (ethernet.kind != FabricKind::single_switch || ethernet.nics_per_node != 1 ||
         !(ethernet.efficiency > 0 && ethernet.efficiency <= 1))) {
        return fail("cluster.ethernet",
                    "the Ethernet of a cluster is one switch with one adapter for each node",
                    "kind: single_switch, nics_per_node: 1, 0 < efficiency <= 1");
    }
    return check_reach(spec);
}

Result<void> check_leaf_sets(const ClusterSpec& spec, const SwitchTree& tree) {
    const bool one_switch = tree.num_blocks == 0 || spec.fabric.kind == FabricKind::file;
    const std::uint32_t pod = tree.cores_per_plane > 0 ? tree.sets_per_pod : 1;
    const std::uint32_t together = tree.nodes_per_set * pod;
    std::uint32_t server = 0;
    for (std::size_t i = 0; i + 1 < spec.kinds.size() && !one_switch; ++i) {
        server += spec.kinds[i].num_nodes * tree.trays;
        const NicClass a = spec.kinds[i].nic_class;
        const NicClass b = spec.kinds[i + 1].nic_class;
        if (a != b && is_rdma(a) && is_rdma(b) && server % together != 0) {
            return fail("cluster.kinds",
                        fmt::format("nodes with {} and nodes with {} would share switches, "
                                    "which have {} servers",
                                    name(a),
                                    name(b),
                                    together),
                        "whole leaf sets (and pods) of each class, or cluster.fabric.kind: "
                        "single_switch");
        }
    }
    return {};
}

NodeWirings::NodeWirings(const ClusterSpec& spec) {
    std::uint32_t first_node = 0;
    for (std::uint32_t i = 0; i < spec.num_kinds(); ++i) {
        const NodeKind kind = spec.kind(i);
        Run run{first_node, num_links_, kind.node, NodeWiring{kind.node, kind.nics_per_node}};
        first_node += kind.num_nodes;
        num_links_ += kind.num_nodes * run.wiring.num_links();
        most_sockets_ = std::max(most_sockets_, run.wiring.num_sockets());
        runs_.push_back(std::move(run));
    }
}

std::uint32_t NodeWirings::node_of_link(std::uint32_t link) const {
    std::size_t i = runs_.size() - 1;
    while (link < runs_[i].first_link) {
        --i;
    }
    return runs_[i].first_node + (link - runs_[i].first_link) / runs_[i].wiring.num_links();
}

}  // namespace orrery
