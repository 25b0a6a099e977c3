// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/node_kinds.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {

namespace {

constexpr std::size_t kKindsMax = 32;  // NcclGroupShape has a bit for each

// Adapters of different RDMA classes do not reach each other.
bool is_rdma(NicClass nic_class) {
    return nic_class == NicClass::infiniband || nic_class == NicClass::roce;
}

// "cluster.kinds[1].nic_class"
std::string place(std::size_t kind, const char* key) {
    return fmt::format("cluster.kinds[{}].{}", kind, key);
}

Result<void> check_alike(const ClusterSpec& spec, std::size_t number) {
    const NodeSpec& first = spec.kinds.front().node;
    const NodeKind& kind = spec.kinds[number];
    const NodeSpec& node = kind.node;
    if (kind.num_nodes == 0) {
        return fail(place(number, "nodes"), "a kind of nodes has no nodes", "1 or more");
    }
    if (node.gpus_per_node != first.gpus_per_node) {
        return fail(place(number, "node"),
                    fmt::format("{} has {} GPUs a node and {} has {}",
                                node.name,
                                node.gpus_per_node,
                                first.name,
                                first.gpus_per_node),
                    "kinds of nodes with the same number of GPUs");
    }
    if (node.trays != first.trays || node.nics_per_tray != first.nics_per_tray) {
        return fail(place(number, "node"),
                    fmt::format("{} has other trays than {}", node.name, first.name),
                    "kinds of nodes with the same trays and nics_per_tray");
    }
    const bool mesh = node.intra_node == IntraNodeKind::nvlink_mesh;
    if (mesh != (first.intra_node == IntraNodeKind::nvlink_mesh)) {
        return fail(place(number, "node"),
                    "nodes with a mesh of NVLinks and nodes without are in one cluster",
                    "intra_node: nvlink_mesh for all kinds, or for none");
    }
    if (kind.nics_per_node > spec.fabric.nics_per_node) {
        return fail(place(number, "nics_per_node"),
                    fmt::format("nics_per_node is {}, and the fabric has {} a node",
                                kind.nics_per_node,
                                spec.fabric.nics_per_node),
                    fmt::format("cluster.fabric.nics_per_node: {}", kind.nics_per_node));
    }
    return {};
}

// Checks that every node can reach every other one.
Result<void> check_reach(const ClusterSpec& spec) {
    const NicClass first = spec.kinds.front().nic_class;
    const bool said = first != NicClass::one_fabric;
    for (std::size_t i = 0; i < spec.kinds.size(); ++i) {
        const NicClass own = spec.kinds[i].nic_class;
        if (said != (own != NicClass::one_fabric)) {
            return fail(place(said ? i : 0, "nic_class"),
                        "this kind of nodes has no nic_class, and others have one",
                        "nic_class: infiniband, roce or ethernet");
        }
        if (spec.num_nodes == 1 || spec.has_ethernet()) {
            continue;
        }
        if (own == NicClass::ethernet) {
            return fail(place(i, "nic_class"),
                        "nodes of nic_class ethernet reach no other node: the cluster has no "
                        "Ethernet",
                        "cluster.ethernet: ethernet-25");
        }
        if (own != first) {
            return fail(place(i, "nic_class"),
                        fmt::format("nodes with {} and nodes with {} cannot reach each other: "
                                    "neither class speaks RDMA to the other, and the cluster has "
                                    "no Ethernet",
                                    name(first),
                                    name(own)),
                        "cluster.ethernet: ethernet-25, for TCP between them");
        }
    }
    return {};
}

// Checks the single switch with one adapter per node, if some nodes need it.
Result<void> check_ethernet(const ClusterSpec& spec) {
    const FabricSpec& ethernet = spec.ethernet;
    if (!spec.has_ethernet()) {
        return {};
    }
    if (ethernet.kind != FabricKind::single_switch || ethernet.nics_per_node != 1) {
        return fail("cluster.ethernet",
                    "the Ethernet of a cluster is one switch with one adapter for each node",
                    "kind: single_switch and nics_per_node: 1");
    }
    if (!(ethernet.efficiency > 0 && ethernet.efficiency <= 1)) {
        return fail("cluster.ethernet.efficiency",
                    fmt::format("efficiency is {}", ethernet.efficiency),
                    "0 < it <= 1");
    }
    for (std::uint32_t kind = 0; kind < spec.kinds.size(); ++kind) {
        if (speak_tcp(spec, 0, kind)) {
            return {};
        }
    }
    return fail("cluster.ethernet",
                "all nodes reach each other by RDMA: nothing goes over the Ethernet",
                "leave it out, or give the kinds of nodes their nic_class");
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
    if (spec.kinds.size() > kKindsMax) {
        return fail("cluster.kinds",
                    fmt::format("{} kinds of nodes are too many", spec.kinds.size()),
                    fmt::format("at most {}", kKindsMax));
    }
    std::uint64_t nodes = 0;
    for (std::size_t i = 0; i < spec.kinds.size(); ++i) {
        nodes += spec.kinds[i].num_nodes;
        if (auto checked = check_alike(spec, i); !checked) {
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
    if (auto checked = check_reach(spec); !checked) {
        return checked;
    }
    return check_ethernet(spec);
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
            return fail(place(i + 1, "nic_class"),
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
        Run run{first_node,
                num_links_,
                kind.node,
                NodeWiring{kind.node, kind.nics_per_node},
                TierWiring{kind.node},
                num_tier_links_};
        num_tier_links_ += kind.num_nodes * run.tiers.num_links();
        if (run.tiers.num_links() > 0) {
            most_memories_ = std::max(most_memories_, run.tiers.num_memories());
        }
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
