// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/cluster_check.h"

#include <fmt/format.h>

#include <vector>

#include "network/fabric/cable_list.h"
#include "network/fabric/node_kinds.h"
#include "network/fabric/switch_counts.h"

namespace orrery {

namespace {

constexpr std::uint32_t kClusterGpusMax = 16'000'000;
constexpr double kCablesMax = 32'000'000;  // 1.5 GB of tables

Result<void> check_placement(const ClusterSpec& spec) {
    std::vector<bool> taken(spec.num_gpus(), false);
    for (std::size_t rank = 0; rank < spec.gpu_of_rank.size(); ++rank) {
        const std::uint32_t gpu = spec.gpu_of_rank[rank];
        if (gpu >= spec.num_gpus()) {
            return fail("cluster",
                        fmt::format("rank {} is placed on GPU {}, but there are {} GPUs",
                                    rank,
                                    gpu,
                                    spec.num_gpus()),
                        "GPUs are numbered from 0, node by node");
        }
        if (taken[gpu]) {
            return fail("cluster",
                        fmt::format("two ranks are placed on GPU {}", gpu),
                        "gpu_of_rank names each GPU at most once");
        }
        taken[gpu] = true;
    }
    return {};
}

Result<void> check_memory_tiers(const NodeSpec& node) {
    if (node.host_memory < Bytes{} || node.host_memory_bandwidth < Bandwidth{} ||
        node.c2c_bandwidth < Bandwidth{} || node.nvme_read_bandwidth < Bandwidth{} ||
        node.nvme_write_bandwidth < Bandwidth{}) {
        return fail("cluster.node",
                    "a memory of the node, or its bandwidth, is negative",
                    "give 0 or more");
    }
    const bool drives = node.nvme_drives > 0;
    const bool host =
        drives || node.c2c_bandwidth > Bandwidth{} || node.host_memory_bandwidth > Bandwidth{};
    if (host && node.host_memory == Bytes{}) {
        return fail("cluster.node.host_memory",
                    "the node has links to its host's memory, and does not say how much that is",
                    "give host_memory of a server");
    }
    const bool rates =
        node.nvme_read_bandwidth > Bandwidth{} && node.nvme_write_bandwidth > Bandwidth{};
    const bool any_rate =
        node.nvme_read_bandwidth > Bandwidth{} || node.nvme_write_bandwidth > Bandwidth{};
    if (drives ? !rates : any_rate) {
        return fail("cluster.node.nvme_drives",
                    fmt::format("the node has {} drives, which read {:.4g} and write {:.4g} GB/s",
                                node.nvme_drives,
                                node.nvme_read_bandwidth.gigabytes_per_second(),
                                node.nvme_write_bandwidth.gigabytes_per_second()),
                    "give nvme_drives, nvme_read_bandwidth and nvme_write_bandwidth together");
    }
    return {};
}

Result<void> check_node(const NodeSpec& node) {
    if (node.num_sockets != 1 && node.num_sockets != 2) {
        return fail("cluster.node.num_sockets",
                    fmt::format("num_sockets is {}", node.num_sockets),
                    "1 or 2");
    }
    const bool has_nvlink = node.intra_node != IntraNodeKind::pcie && node.gpus_per_node > 1;
    if (has_nvlink && node.nvlink_bandwidth <= Bandwidth{}) {
        return fail("cluster.node.nvlink_bandwidth",
                    "nvlink_bandwidth of the node is missing or not positive",
                    "give it per GPU and direction, or intra_node: pcie");
    }
    if (node.pcie_bandwidth <= Bandwidth{}) {
        return fail("cluster.node.pcie_bandwidth",
                    "pcie_bandwidth of the node is missing or not positive",
                    "give it per GPU and direction");
    }
    if (node.socket_bandwidth < Bandwidth{} || node.nvlink_latency < Time{} ||
        node.pcie_latency < Time{}) {
        return fail(
            "cluster.node", "a bandwidth or latency of the node is negative", "give 0 or more");
    }
    if (auto checked = check_memory_tiers(node); !checked) {
        return checked;
    }
    for (const double efficiency : {node.nvlink_efficiency, node.pcie_efficiency}) {
        if (!(efficiency > 0 && efficiency <= 1)) {
            return fail("cluster.node",
                        fmt::format("an efficiency of the node is {}", efficiency),
                        "0 < it <= 1");
        }
    }
    return {};
}

Result<void> check_nodes(const ClusterSpec& spec) {
    if (spec.node.gpus_per_node == 0 || spec.num_nodes == 0) {
        return fail("cluster.nodes",
                    "the cluster has no GPUs",
                    "nodes and gpus_per_node must be at least 1");
    }
    if (static_cast<std::uint64_t>(spec.num_nodes) * spec.node.gpus_per_node > kClusterGpusMax) {
        return fail("cluster.nodes",
                    "the cluster has too many GPUs",
                    fmt::format("at most {}", kClusterGpusMax));
    }
    for (std::uint32_t kind = 0; kind < spec.num_kinds(); ++kind) {
        if (auto checked = check_node(spec.kind(kind).node); !checked) {
            return checked;
        }
    }
    return check_placement(spec);
}

// The GPUs of an NVLink domain are spread evenly over its trays, and so are its NICs
// (tree_of_leaf_sets()).
Result<void> check_trays(const ClusterSpec& spec) {
    const NodeSpec& node = spec.node;
    if (node.trays == 0 || node.gpus_per_node % node.trays != 0) {
        return fail(
            "cluster.node.trays",
            fmt::format(
                "{} GPUs are not spread evenly over {} trays", node.gpus_per_node, node.trays),
            "a divisor of gpus_per_node");
    }
    const bool apart = node.intra_node != IntraNodeKind::nvswitch ||
                       (node.num_sockets > 1 && node.socket_bandwidth > Bandwidth{});
    if (node.trays > 1 && apart) {
        return fail("cluster.node.trays",
                    "only NVLink switches join several trays to a node",
                    "intra_node: nvswitch, without socket_bandwidth");
    }
    return {};
}

Result<void> check_listed(const ClusterSpec& spec) {
    const FabricSpec& fabric = spec.fabric;
    if (fabric.kind != FabricKind::file) {
        return {};
    }
    const bool fits = fabric.cables != nullptr && fabric.cables->num_nodes() == spec.num_nodes &&
                      fabric.cables->nics_per_node() == fabric.nics_per_node;
    if (!fits) {
        return fail("cluster.fabric.file",
                    "the table of cables is not that of these nodes and NICs",
                    "read it anew for another number of nodes");
    }
    if (fabric.routing == RoutingKind::spray) {
        return fail("cluster.fabric.routing",
                    "spraying needs the bundles of a clos or rail fabric",
                    "ecmp, adaptive or static_rail");
    }
    return {};
}

}  // namespace

Result<SwitchTree> checked_tree(const ClusterSpec& spec) {
    if (auto checked = check_nodes(spec); !checked) {
        return unexpected<Error>(checked.error());
    }
    if (auto checked = check_kinds(spec); !checked) {
        return unexpected<Error>(checked.error());
    }
    if (auto checked = check_trays(spec); !checked) {
        return unexpected<Error>(checked.error());
    }
    if (auto checked = check_listed(spec); !checked) {
        return unexpected<Error>(checked.error());
    }
    auto tree = fabric_tree(spec);
    if (!tree) {
        return tree;
    }
    if (auto checked = check_leaf_sets(spec, *tree); !checked) {
        return unexpected<Error>(checked.error());
    }
    const double cables =
        tree->num_cables() + static_cast<double>(spec.num_gpus()) * spec.node.gpus_per_node;
    if (cables > kCablesMax) {
        return fail("cluster.fabric",
                    fmt::format("the fabric needs {:.4g} million cables", cables * 1e-6),
                    fmt::format("at most {:.4g} million", kCablesMax * 1e-6));
    }
    return tree;
}

Result<void> check_cluster(const ClusterSpec& spec) {
    const auto tree = checked_tree(spec);
    return tree ? Result<void>{} : unexpected<Error>(tree.error());
}

}  // namespace orrery
