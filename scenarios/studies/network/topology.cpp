// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/plan/rank_mesh.h"
#include "network/fabric/fabric.h"
#include "network/fabric/fabric_remarks.h"
#include "network/fabric/switch_counts.h"

namespace orrery {
namespace {

std::vector<CableTier> cables_of(const Fabric& fabric) {
    std::vector<CableTier> tiers;
    std::vector<std::uint32_t> directions(fabric.link_class_names().size());
    std::vector<double> bits(directions.size());
    for (const std::string& name : fabric.link_class_names()) {
        tiers.push_back({.name = name});
    }
    for (std::size_t l = 0; l < fabric.links().size(); ++l) {
        const LinkInfo& link = fabric.links()[l];
        CableTier& tier = tiers[link.link_class];
        const bool first = directions[link.link_class]++ == 0;
        bits[link.link_class] += static_cast<double>(link.capacity.bits_per_second());
        tier.slowest = first ? link.capacity : std::min(tier.slowest, link.capacity);
        tier.fastest = std::max(tier.fastest, link.capacity);
        tier.latency = fabric.link_latency(to_id<LinkId>(l));
    }
    for (std::size_t c = 0; c < tiers.size(); ++c) {
        tiers[c].cables = directions[c] / 2;
        tiers[c].total = Bandwidth::bits_per_second(static_cast<std::int64_t>(bits[c] / 2));
    }
    constexpr auto kNic = static_cast<std::size_t>(LinkClass::nic);
    constexpr auto kCore = static_cast<std::size_t>(LinkClass::core_uplink);
    for (std::size_t c = kNic + 1; c <= kCore && fabric.spec().fabric.kind != FabricKind::file;
         ++c) {
        tiers[c].oversubscription = tiers[c].cables > 0 ? bits[c - 1] / bits[c] : 0;
    }
    if (fabric.spec().num_nodes == 1) {
        std::fill(tiers.begin() + kNic, tiers.begin() + kCore + 1, CableTier{});  // none is used
    }
    std::erase_if(tiers, [](const CableTier& tier) { return tier.cables == 0; });
    return tiers;
}

// "leaf" and "spine" of the class "leaf-spine".
std::string end_of_class(const Fabric& fabric, LinkClass link_class, bool upper) {
    const std::string& name = fabric.link_class_names()[static_cast<std::size_t>(link_class)];
    const std::size_t dash = name.find('-');
    return upper ? name.substr(dash + 1) : name.substr(0, dash);
}

std::vector<SwitchTier> switches_of(const Fabric& fabric) {
    std::vector<SwitchTier> tiers;
    if (fabric.spec().num_nodes == 1) {
        return tiers;
    }
    const auto add = [&](LinkClass link_class, bool upper, std::uint32_t count) {
        if (count > 0) {
            tiers.push_back({end_of_class(fabric, link_class, upper), count});
        }
    };
    if (fabric.spec().fabric.kind == FabricKind::file) {
        const auto count = [](const SwitchCounts& c, std::uint32_t sets) {
            return c.leaves_per_set * sets + c.spines;
        };
        const SwitchCounts counts = count_switches(fabric.spec());
        const std::uint32_t servers = fabric.spec().num_servers();
        return {
            {"switch", count(counts, (servers + counts.nodes_per_set - 1) / counts.nodes_per_set)}};
    }
    const SwitchTree& tree = fabric.tree();
    add(LinkClass::leaf_uplink, false, tree.num_leaves);
    add(LinkClass::leaf_uplink, true, tree.num_tier2());
    add(LinkClass::core_uplink, true, tree.num_cores());
    return tiers;
}

class RankPlacement {
public:
    explicit RankPlacement(const Fabric& fabric) : fabric_(fabric) {}

    PlacedAxis of(const Mesh& mesh, const std::string& name, std::uint32_t digits) const {
        PlacedAxis axis{.name = name, .ranks = mesh.combined_size(digits)};
        axis.groups = mesh.num_ranks() / axis.ranks;
        const Group group{.name = name, .digits = digits};
        for (std::uint32_t r = 0; r < mesh.num_ranks(); ++r) {
            if (mesh.combined_coordinate(to_id<RankId>(r), digits) == 0) {
                look_at(mesh.members(group, to_id<RankId>(r)), axis);
            }
        }
        return axis;
    }

private:
    void look_at(const std::vector<RankId>& members, PlacedAxis& axis) const {
        std::set<std::uint32_t> nodes;
        for (const RankId member : members) {
            nodes.insert(fabric_.node_of(member));
            axis.farthest = std::max(axis.farthest, between(members.front(), member));
        }
        axis.nodes = std::max(axis.nodes, static_cast<std::uint32_t>(nodes.size()));
    }
    Distance between(RankId a, RankId b) const {
        if (fabric_.node_of(a) == fabric_.node_of(b)) {
            return Distance::node;
        }
        const SwitchTree& tree = fabric_.tree();
        const std::uint32_t set_a = server_of(a) / tree.nodes_per_set;
        const std::uint32_t set_b = server_of(b) / tree.nodes_per_set;
        if (set_a == set_b) {
            return Distance::leaf_set;
        }
        return set_a / tree.sets_per_pod == set_b / tree.sets_per_pod ? Distance::pod
                                                                      : Distance::cluster;
    }
    std::uint32_t server_of(RankId rank) const {
        const std::uint32_t gpus = fabric_.spec().gpus_per_server();
        return fabric_.node_of(rank) * fabric_.spec().node.trays + fabric_.local_of(rank) / gpus;
    }

    const Fabric& fabric_;
};

// The axes with several ranks. Axes with the same members are one.
std::vector<PlacedAxis> axes_of(const Scenario& scenario, const Fabric& fabric) {
    const Mesh mesh =
        rank_mesh(scenario.plan, ranks_of_key_value_head(scenario.model, scenario.plan));
    if (mesh.num_ranks() > fabric.num_ranks()) {
        return {};
    }
    std::vector<PlacedAxis> axes;
    std::set<std::uint32_t> seen;
    for (const MeshAxis& axis : mesh.axes()) {
        if (mesh.combined_size(axis.digits) > 1 && seen.insert(axis.digits).second) {
            axes.push_back(RankPlacement{fabric}.of(mesh, axis.name, axis.digits));
        }
    }
    return axes;
}

Result<RankPath> path_between(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
    for (const std::uint32_t rank : {from, to}) {
        if (rank >= fabric.num_ranks()) {
            return unexpected<Error>({"",
                                      fmt::format("there is no rank {}", rank),
                                      fmt::format("0 to {}", fabric.num_ranks() - 1)});
        }
    }
    const auto a = to_id<RankId>(from);
    const auto b = to_id<RankId>(to);
    Path route;
    if (from != to && !fabric.route(a, b, 0, route)) {
        return unexpected<Error>(
            {"", fmt::format("no cable leads from rank {} to rank {}", from, to), ""});
    }
    RankPath path{.from = from, .to = to, .latency = route.latency};
    for (const LinkId link : route.links) {
        const LinkInfo& info = fabric.links()[index(link)];
        path.hops.push_back({.link = fabric.link_name(link),
                             .link_class = fabric.link_class_names()[info.link_class],
                             .capacity = info.capacity,
                             .latency = fabric.link_latency(link)});
    }
    if (fabric.node_of(a) != fabric.node_of(b)) {
        path.equal_paths =
            fabric.over_tcp(fabric.node_of(a), fabric.node_of(b))
                ? 1
                : fabric.num_paths(fabric.nic_towards(a, b), fabric.nic_towards(b, a));
    }
    return path;
}

bool has_one_mesh(const Scenario& scenario) {
    const auto* document = scenario.document.get();
    return document != nullptr && document->find("plan") != nullptr &&
           scenario.plan.stage_tensor_model_parallel_sizes.empty();
}

}  // namespace

Result<Topology> topology_of(
    const Scenario& scenario,
    const std::optional<std::pair<std::uint32_t, std::uint32_t>>& between) {
    ClusterSpec cluster = scenario.cluster;
    if (cluster.fabric.kind != FabricKind::file) {
        cluster.fabric.routing = RoutingKind::ecmp;  // no cables are merged
    }
    const Result<Fabric> fabric = build_fabric(cluster);
    if (!fabric) {
        return unexpected<Error>(fabric.error());
    }
    Topology topology{
        .name = scenario.name,
        .node = cluster.num_kinds() > 1 ? fmt::format("{} kinds of nodes", cluster.num_kinds())
                                        : cluster.node.name,
        .fabric = cluster.num_nodes > 1 ? cluster.fabric.name : std::string{},
        .nodes = cluster.num_nodes,
        .gpus = cluster.num_gpus(),
        .ranks = cluster.num_ranks(),
        .switches = switches_of(*fabric),
        .cables = cables_of(*fabric),
        .axes = has_one_mesh(scenario) ? axes_of(scenario, *fabric) : std::vector<PlacedAxis>{},
        .remarks = fabric_remarks(scenario.cluster)};
    if (between) {
        Result<RankPath> path = path_between(*fabric, between->first, between->second);
        if (!path) {
            return unexpected<Error>(path.error());
        }
        topology.path = std::move(*path);
    }
    return topology;
}

}  // namespace orrery
