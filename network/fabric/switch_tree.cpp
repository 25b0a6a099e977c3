// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/switch_tree.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace orrery {

namespace {

constexpr double kRoundingMost = 0.45;  // a larger change would make a different ratio
constexpr std::uint32_t kUplinksMax = 16384;
constexpr std::uint32_t kNicsPerNodeMax = 256;
constexpr std::uint32_t kGroupSizeMax = 65536;

struct UplinkDemand {
    const char* switches;  // the switches with the uplinks, for messages
    const char* key;
    double downlink_bps = 0;
    double oversubscription = 1;
    Bandwidth uplink;
    std::uint32_t cables = 1;
};

// The number of uplinks for the demand: a multiple of the parallel cables.
Result<std::uint32_t> count_uplinks(const UplinkDemand& demand) {
    const double wanted = demand.downlink_bps / demand.oversubscription /
                          static_cast<double>(demand.uplink.bits_per_second());
    const double groups = std::max(1.0, std::round(wanted / demand.cables));
    const double uplinks = groups * demand.cables;
    const double achieved = demand.oversubscription * wanted / uplinks;
    if (std::abs(uplinks / wanted - 1) > kRoundingMost || uplinks > kUplinksMax) {
        return fail(fmt::format("cluster.fabric.{}", demand.key),
                    fmt::format("{} {} asks for {:.4g} uplinks of {} Gb/s for each {} switch, in "
                                "multiples of {}",
                                demand.key,
                                demand.oversubscription,
                                wanted,
                                static_cast<double>(demand.uplink.bits_per_second()) * 1e-9,
                                demand.switches,
                                demand.cables),
                    fmt::format("{} uplinks would be {} {:.6g}", uplinks, demand.key, achieved));
    }
    return static_cast<std::uint32_t>(uplinks);
}

Result<void> check_ports(const char* switches, double ports, std::uint32_t radix) {
    if (radix == 0 || std::ceil(ports) <= radix) {
        return {};
    }
    return fail("cluster.fabric.switch_radix",
                fmt::format("a {} switch needs {} ports, but switch_radix is {}",
                            switches,
                            std::ceil(ports),
                            radix),
                "put fewer servers or leaf sets under it, oversubscribe, or add a tier");
}

Result<void> check_radix(const SwitchTree& tree, const FabricSpec& fabric) {
    const double share = std::min(1.0,
                                  static_cast<double>(fabric.nic_bandwidth.bits_per_second()) /
                                      static_cast<double>(tree.uplink.bits_per_second()));
    const double leaf = tree.nics_per_leaf() * share + tree.leaf_uplinks();
    const std::uint32_t leaves = std::min(tree.leaves_per_block(), tree.num_leaves);
    const double tier2 = static_cast<double>(leaves) * tree.leaf_cables + tree.tier2_uplinks();
    const auto core = static_cast<double>(tree.num_blocks) * tree.core_cables;
    auto checked = check_ports("leaf", leaf, fabric.switch_radix);
    if (checked && tree.num_blocks > 0) {
        checked = check_ports(
            tree.cores_per_plane > 0 ? "aggregation" : "spine", tier2, fabric.switch_radix);
    }
    if (checked && tree.cores_per_plane > 0) {
        checked = check_ports("core", core, fabric.switch_radix);
    }
    return checked;
}

Result<void> check_positive(const char* key, double value) {
    if (value > 0 && std::isfinite(value)) {
        return {};
    }
    return fail(fmt::format("cluster.{}{}", key == std::string_view{"nodes"} ? "" : "fabric.", key),
                fmt::format("{} is {}", key, value),
                "it must be greater than 0");
}

Result<void> check_fabric(const ClusterSpec& spec) {
    const FabricSpec& fabric = spec.fabric;
    const double nic_bps = static_cast<double>(fabric.nic_bandwidth.bits_per_second());
    const bool is_alone = spec.num_nodes == 1 && nic_bps == 0;
    const struct {
        const char* key;
        double value;
    } positive[] = {
        {"nodes", static_cast<double>(spec.num_nodes)},
        {"nics_per_node", static_cast<double>(fabric.nics_per_node)},
        {"nic_bandwidth", is_alone ? 1.0 : nic_bps},
        {"nodes_per_leaf_set", static_cast<double>(fabric.nodes_per_leaf_set)},
        {"leaf_sets_per_pod", static_cast<double>(fabric.leaf_sets_per_pod)},
        {"uplink_cables", static_cast<double>(fabric.uplink_cables)},
        {"core_cables", static_cast<double>(fabric.core_cables)},
        {"oversubscription", fabric.oversubscription},
        {"spine_oversubscription", fabric.spine_oversubscription},
        {"qps_per_connection", static_cast<double>(fabric.qps_per_connection)},
    };
    for (const auto& entry : positive) {
        if (auto checked = check_positive(entry.key, entry.value); !checked) {
            return checked;
        }
    }
    if (fabric.nics_per_node % spec.node.trays != 0) {
        return fail("cluster.fabric.nics_per_node",
                    fmt::format("{} NICs are not spread evenly over {} trays",
                                fabric.nics_per_node,
                                spec.node.trays),
                    "leave it out and give cluster.node.nics_per_tray");
    }
    if (fabric.nics_per_node > kNicsPerNodeMax || fabric.nodes_per_leaf_set > kGroupSizeMax ||
        fabric.leaf_sets_per_pod > kGroupSizeMax) {
        return fail("cluster.fabric",
                    "nics_per_node, nodes_per_leaf_set or leaf_sets_per_pod is too large",
                    fmt::format("at most {} NICs a node, {} nodes a set and sets a pod",
                                kNicsPerNodeMax,
                                kGroupSizeMax));
    }
    if (!(fabric.efficiency > 0 && fabric.efficiency <= 1)) {
        return fail("cluster.fabric.efficiency",
                    fmt::format("fabric efficiency is {}", fabric.efficiency),
                    "0 < it <= 1");
    }
    if (fabric.uplink_bandwidth.bits_per_second() < 0 ||
        fabric.core_bandwidth.bits_per_second() < 0) {
        return fail("cluster.fabric",
                    "a bandwidth of the fabric is negative",
                    "0 means the same as one tier down");
    }
    if (fabric.nic_latency < Time{} || fabric.link_latency < Time{} ||
        fabric.message_latency < Time{}) {
        return fail("cluster.fabric", "a latency of the fabric is negative", "give 0 or more");
    }
    return {};
}

}  // namespace

std::uint64_t SwitchTree::num_paths(NicPort from, NicPort to) const {
    const std::uint32_t a = leaf_of(from);
    const std::uint32_t b = leaf_of(to);
    if (from == to) {
        return 0;
    }
    if (a == b) {
        return 1;
    }
    const std::uint64_t through_tier2 =
        static_cast<std::uint64_t>(tier2_per_block) * leaf_cables * leaf_cables;
    if (block_of(a) == block_of(b)) {
        return through_tier2;
    }
    return through_tier2 * cores_per_plane * core_cables * core_cables;
}

double SwitchTree::num_cables() const {
    const double nics = static_cast<double>(num_nodes) * nics_per_node;
    const double leaf = static_cast<double>(num_leaves) * leaf_uplinks();
    const double tier2 = static_cast<double>(num_blocks) * tier2_per_block;
    return nics + leaf + tier2 * tier2_uplinks();
}

Result<SwitchTree> tree_of_leaf_sets(const ClusterSpec& spec, std::uint32_t leaves_per_set) {
    const FabricSpec& fabric = spec.fabric;
    if (auto checked = check_fabric(spec); !checked) {
        return unexpected<Error>(checked.error());
    }
    SwitchTree tree{
        .num_nodes = spec.num_nodes,
        .nics_per_node = fabric.nics_per_node,
        .trays = spec.node.trays,
        .nodes_per_set = fabric.nodes_per_leaf_set,
        .leaves_per_set = leaves_per_set,
        .merged = fabric.routing == RoutingKind::spray,
        .uplink = fabric.uplink_bandwidth,
        .core_link = fabric.core_bandwidth,
    };
    if (tree.uplink == Bandwidth{}) {
        tree.uplink = fabric.nic_bandwidth;
    }
    if (tree.core_link == Bandwidth{}) {
        tree.core_link = tree.uplink;
    }
    const std::uint32_t sets = (spec.num_servers() - 1) / tree.nodes_per_set + 1;
    tree.num_leaves = sets * leaves_per_set;
    tree.sets_per_pod = sets;
    return tree;
}

Result<SwitchTree> with_upper_tiers(SwitchTree tree, const FabricSpec& fabric) {
    const double nic_bps = static_cast<double>(fabric.nic_bandwidth.bits_per_second());
    const std::uint32_t sets = tree.num_leaves / tree.leaves_per_set;
    const std::uint32_t pods = (sets - 1) / tree.sets_per_pod + 1;
    tree.num_blocks = tree.num_leaves > 1 ? pods * tree.blocks_per_pod : 0;
    if (tree.num_blocks > 0) {
        const auto uplinks = count_uplinks({.switches = "leaf",
                                            .key = "oversubscription",
                                            .downlink_bps = tree.nics_per_leaf() * nic_bps,
                                            .oversubscription = fabric.oversubscription,
                                            .uplink = tree.uplink,
                                            .cables = fabric.uplink_cables});
        if (!uplinks) {
            return unexpected<Error>(uplinks.error());
        }
        tree.leaf_cables = fabric.uplink_cables;
        tree.tier2_per_block = *uplinks / tree.leaf_cables;
    }
    if (tree.num_blocks > 1) {
        const double down = static_cast<double>(tree.leaves_per_block()) * tree.leaf_cables *
                            static_cast<double>(tree.uplink.bits_per_second());
        const auto uplinks = count_uplinks({.switches = "aggregation",
                                            .key = "spine_oversubscription",
                                            .downlink_bps = down,
                                            .oversubscription = fabric.spine_oversubscription,
                                            .uplink = tree.core_link,
                                            .cables = fabric.core_cables});
        if (!uplinks) {
            return unexpected<Error>(uplinks.error());
        }
        tree.core_cables = fabric.core_cables;
        tree.cores_per_plane = *uplinks / tree.core_cables;
    }
    if (auto checked = check_radix(tree, fabric); !checked) {
        return unexpected<Error>(checked.error());
    }
    return tree;
}

}  // namespace orrery
