// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/fabric_remarks.h"

#include <fmt/format.h>

#include <cmath>

#include "network/fabric/fabric.h"
#include "network/fabric/switch_counts.h"

namespace orrery {
namespace {

constexpr double kWorthTelling = 0.01;

// The remark on a ratio that changed because numbers of uplinks are whole.
std::string rounded(const char* key, double asked, double achieved, const std::string& uplinks) {
    return std::abs(achieved / asked - 1) <= kWorthTelling
               ? ""
               : fmt::format("{} {:.4g} gives no whole number of uplinks: {} make it {:.4g}",
                             key,
                             asked,
                             uplinks,
                             achieved);
}

double ratio(double down, Bandwidth down_each, double up, Bandwidth up_each) {
    return down * static_cast<double>(down_each.bits_per_second()) /
           (up * static_cast<double>(up_each.bits_per_second()));
}

std::string of_leaves(const ClusterSpec& cluster, const SwitchTree& tree) {
    const FabricSpec& fabric = cluster.fabric;
    const std::uint32_t sets = tree.num_leaves / tree.leaves_per_set;
    if (sets == 1) {
        return fabric.oversubscription == 1
                   ? ""
                   : fmt::format(
                         "all {} nodes are under one set of leaf switches: "
                         "oversubscription {:.4g} changes nothing; "
                         "cluster.fabric.nodes_per_leaf_set is {}",
                         cluster.num_servers(),
                         fabric.oversubscription,
                         fabric.nodes_per_leaf_set);
    }
    return rounded(
        "oversubscription",
        fabric.oversubscription,
        ratio(tree.nics_per_leaf(), fabric.nic_bandwidth, tree.leaf_uplinks(), tree.uplink),
        fmt::format("{} a leaf switch", tree.leaf_uplinks()));
}

std::string of_spines(const ClusterSpec& cluster, const SwitchTree& tree) {
    const FabricSpec& fabric = cluster.fabric;
    const double asked = fabric.spine_oversubscription;
    const bool pods = tree.num_leaves / tree.leaves_per_set > tree.sets_per_pod;
    if (!pods || tree.cores_per_plane == 0) {
        return asked == 1 ? ""
                          : fmt::format(
                                "all {} nodes are in one pod: "
                                "spine_oversubscription {:.4g} changes nothing",
                                cluster.num_servers(),
                                asked);
    }
    const double down = static_cast<double>(tree.leaves_per_block()) * tree.leaf_cables;
    return rounded("spine_oversubscription",
                   asked,
                   ratio(down, tree.uplink, tree.tier2_uplinks(), tree.core_link),
                   fmt::format("{} an aggregation switch", tree.tier2_uplinks()));
}

}  // namespace

std::vector<std::string> fabric_remarks(const ClusterSpec& cluster) {
    const FabricSpec& fabric = cluster.fabric;
    std::vector<std::string> remarks;
    if (cluster.num_nodes == 1 || fabric.kind == FabricKind::file) {
        return remarks;
    }
    if (fabric.kind == FabricKind::single_switch) {
        if (fabric.oversubscription != 1 || fabric.spine_oversubscription != 1) {
            remarks.emplace_back(
                "a single switch has no uplinks: "
                "oversubscription changes nothing");
        }
        return remarks;
    }
    const auto tree = fabric_tree(cluster);
    if (!tree) {
        return remarks;
    }
    for (const std::string& remark : {of_leaves(cluster, *tree), of_spines(cluster, *tree)}) {
        if (!remark.empty()) {
            remarks.push_back(remark);
        }
    }
    return remarks;
}

}  // namespace orrery
