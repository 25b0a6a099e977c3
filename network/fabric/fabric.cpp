// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/fabric.h"

#include <fmt/format.h>

#include "engine/base/check.h"
#include "network/fabric/cable_list.h"
#include "network/fabric/cluster_check.h"

namespace orrery {

namespace {

struct TierNames {
    const char* leaf;
    const char* tier2;
};

TierNames tier_names(const FabricSpec& fabric) {
    if (fabric.kind == FabricKind::clos && fabric.tiers == 3) {
        return {"tor", "aggregation"};
    }
    const bool flat = fabric.kind == FabricKind::single_switch || fabric.kind == FabricKind::file;
    return {flat ? "switch" : "leaf", "spine"};
}

bool has_memory_tiers(const ClusterSpec& spec) {
    bool any = false;
    for (std::uint32_t kind = 0; kind < spec.num_kinds(); ++kind) {
        any = any || has_tier(spec.kind(kind).node, MemoryTier::dram);
    }
    return any;
}

std::vector<std::string> class_names_of(const ClusterSpec& spec) {
    const FabricSpec& fabric = spec.fabric;
    const TierNames names = tier_names(fabric);
    std::vector<std::string> all{"nvlink",
                                 "pcie",
                                 "inter-socket",
                                 "nic",
                                 fabric.kind == FabricKind::file
                                     ? "switch-switch"
                                     : fmt::format("{}-{}", names.leaf, names.tier2),
                                 fmt::format("{}-core", names.tier2)};
    if (spec.has_ethernet() || has_memory_tiers(spec)) {
        all.emplace_back("ethernet");
    }
    if (has_memory_tiers(spec)) {
        all.insert(all.end(), {"c2c", "host memory", "nvme"});
    }
    return all;
}

}  // namespace

Result<Fabric> build_fabric(const ClusterSpec& spec) {
    const auto tree = checked_tree(spec);
    if (!tree) {
        return unexpected<Error>(tree.error());
    }
    return Fabric(spec, *tree);
}

Fabric::Fabric(const ClusterSpec& spec, const SwitchTree& tree)
    : spec_(spec),
      wirings_(spec),
      tree_(tree),
      router_(tree, spec.fabric, wirings_.num_links()),
      class_names_(class_names_of(spec)) {
    const Time hop = spec.fabric.link_latency;
    class_latency_ = {spec.node.nvlink_latency,
                      spec.node.pcie_latency,
                      Time{},
                      hop + spec.fabric.nic_latency,
                      hop,
                      hop,
                      spec.ethernet.link_latency + spec.ethernet.nic_latency,
                      spec.node.nvlink_latency,
                      Time{},
                      spec.node.pcie_latency};
    if (!spec.gpu_of_rank.empty()) {
        rank_on_.assign(spec.num_gpus(), false);
        for (const std::uint32_t gpu : spec.gpu_of_rank) {
            rank_on_[gpu] = true;
        }
    }
    number_vertices();
    std::size_t num_links = first_link_of_node(spec.num_nodes) + tree_.num_links();
    if (spec.fabric.kind == FabricKind::file) {
        const CableList& cables = *spec.fabric.cables;
        num_links += 2 * cables.switch_cables().size();
        paths_ = std::make_shared<ShortestPaths>(
            spec.fabric.cables, spec.fabric, first_link_of_node(spec.num_nodes));
    }
    first_ethernet_link_ = static_cast<std::uint32_t>(num_links);
    num_links += spec.has_ethernet() ? 2 * spec.num_nodes : 0;
    first_tier_link_ = static_cast<std::uint32_t>(num_links);
    num_links += wirings_.num_tier_links();
    links_.reserve(num_links);
    ends_.reserve(num_links);
    lay_node_links();
    if (paths_) {
        lay_listed_cables(*spec.fabric.cables);
    } else {
        lay_switch_links();
    }
    lay_ethernet();
    lay_memory_tiers();
    ORRERY_CHECK(links_.size() == num_links && ends_.size() == num_links);
}

void Fabric::number_vertices() {
    const std::uint32_t nodes = spec_.num_nodes;
    bool nvswitch = spec_.node.intra_node == IntraNodeKind::nvswitch;
    for (const NodeKind& kind : spec_.kinds) {
        nvswitch = nvswitch || kind.node.intra_node == IntraNodeKind::nvswitch;
    }
    first_nvswitch_ = spec_.num_gpus();
    first_root_ = first_nvswitch_ + (nvswitch ? nodes : 0);
    first_nic_ = first_root_ + nodes * wirings_.most_sockets();
    first_leaf_ = first_nic_ + nodes * tree_.nics_per_node;
    const bool listed = spec_.fabric.kind == FabricKind::file;
    first_tier2_ =
        first_leaf_ + (listed ? static_cast<std::uint32_t>(spec_.fabric.cables->switches().size())
                              : tree_.num_leaves);
    first_core_ = first_tier2_ + (tree_.merged ? tree_.num_blocks : tree_.num_tier2());
    const std::uint32_t merged_cores = tree_.cores_per_plane > 0 ? 1 : 0;
    first_ethernet_ = first_core_ + (tree_.merged ? merged_cores : tree_.num_cores());
    first_memory_ = first_ethernet_ + (spec_.has_ethernet() ? nodes + 1 : 0);
    first_drives_ = first_memory_ + nodes * wirings_.most_memories();
    num_vertices_ = first_drives_ + nodes * wirings_.most_memories();
}

void Fabric::lay_node_links() {
    for (std::uint32_t node = 0; node < spec_.num_nodes; ++node) {
        const NodeWiring& wiring = wirings_.of(node);
        wiring.append_links(links_);
        wiring.append_ends(node * spec_.node.gpus_per_node,
                           first_nvswitch_ + node,
                           vertex_of_root(node, 0),
                           ends_);
    }
}

void Fabric::add_cable(LinkClass link_class, Bandwidth raw, LinkEnds upward) {
    const bool ethernet = link_class == LinkClass::ethernet;
    const LinkInfo info{usable(raw, ethernet ? spec_.ethernet.efficiency : spec_.fabric.efficiency),
                        static_cast<std::uint16_t>(link_class)};
    links_.insert(links_.end(), 2, info);
    ends_.push_back(upward);
    ends_.push_back({upward.to, upward.from});
}

// The link of each node's adapter to the single switch; the outward direction comes first.
void Fabric::lay_ethernet() {
    for (std::uint32_t node = 0; spec_.has_ethernet() && node < spec_.num_nodes; ++node) {
        add_cable(LinkClass::ethernet,
                  spec_.ethernet.nic_bandwidth,
                  {first_ethernet_ + node, first_ethernet_ + spec_.num_nodes});
    }
}

void Fabric::lay_memory_tiers() {
    for (std::uint32_t node = 0; node < spec_.num_nodes; ++node) {
        const NodeWiring& wiring = wirings_.of(node);
        const TierWiring& tiers = wirings_.tiers_of(node);
        std::vector<std::uint32_t> roots;
        for (std::uint32_t m = 0; m < tiers.num_memories(); ++m) {
            const std::uint32_t socket = wiring.has_socket_links() ? m % wiring.num_sockets() : 0;
            roots.push_back(vertex_of_root(node, socket));
        }
        tiers.append_links(links_);
        tiers.append_ends(node * spec_.node.gpus_per_node,
                          roots,
                          first_memory_ + node * wirings_.most_memories(),
                          first_drives_ + node * wirings_.most_memories(),
                          ends_);
    }
}

TransferPhase Fabric::copy(RankId rank, const CopyCall& call) const {
    const std::uint32_t node = node_of(rank);
    return wirings_.tiers_of(node).copy(first_tier_link_ + wirings_.first_tier_link(node),
                                        wirings_.of(node),
                                        first_link_of_node(node),
                                        local_of(rank),
                                        call);
}

void Fabric::lay_listed_cables(const CableList& cables) {
    for (const CableList::Cable& cable : cables.nic_cables()) {
        add_cable(LinkClass::nic, cable.bandwidth, {first_nic_ + cable.a, first_leaf_ + cable.b});
    }
    for (const CableList::Cable& cable : cables.switch_cables()) {
        add_cable(LinkClass::leaf_uplink,
                  cable.bandwidth,
                  {first_leaf_ + cable.a, first_leaf_ + cable.b});
    }
}

Time Fabric::link_latency(LinkId link) const {
    const LinkInfo& info = links_[index(link)];
    if (paths_ && info.link_class >= static_cast<std::uint16_t>(LinkClass::nic) &&
        info.link_class < static_cast<std::uint16_t>(LinkClass::ethernet)) {
        return paths_->link_latency(static_cast<std::uint32_t>(index(link)));
    }
    if (!spec_.kinds.empty() && index(link) < wirings_.num_links()) {
        const NodeSpec& node =
            node_spec(wirings_.node_of_link(static_cast<std::uint32_t>(index(link))));
        const auto of_class = static_cast<LinkClass>(info.link_class);
        return of_class == LinkClass::nvlink ? node.nvlink_latency
               : of_class == LinkClass::pcie ? node.pcie_latency
                                             : Time{};
    }
    return class_latency_[info.link_class];
}

void Fabric::lay_switch_links() {
    for (std::uint32_t node = 0; node < spec_.num_nodes; ++node) {
        const Bandwidth line = spec_.kinds.empty()
                                   ? spec_.fabric.nic_bandwidth
                                   : spec_.kind(spec_.kind_of_node(node)).nic_bandwidth;
        for (std::uint32_t nic = 0; nic < tree_.nics_per_node; ++nic) {
            const NicPort port{.node = node, .nic = nic};
            add_cable(
                LinkClass::nic, line, {vertex_of_nic(port), first_leaf_ + tree_.leaf_of(port)});
        }
    }
    if (tree_.num_blocks == 0) {
        return;
    }
    // A merged tree has one link for each bundle, to the single vertex of its block or of all
    // cores.
    const std::uint32_t tier2 = tree_.merged ? 1 : tree_.tier2_per_block;
    const std::uint32_t leaf_bundle = tree_.merged ? tree_.leaf_uplinks() : 1;
    for (std::uint32_t leaf = 0; leaf < tree_.num_leaves; ++leaf) {
        const std::uint32_t first = first_tier2_ + tree_.block_of(leaf) * tier2;
        for (std::uint32_t port = 0; port < tree_.leaf_uplinks() / leaf_bundle; ++port) {
            add_cable(LinkClass::leaf_uplink,
                      tree_.uplink * leaf_bundle,
                      {first_leaf_ + leaf, first + port % tier2});
        }
    }
    const std::uint32_t core_bundle =
        tree_.merged ? tree_.tier2_per_block * tree_.tier2_uplinks() : 1;
    for (std::uint32_t at = 0; at < tree_.num_blocks * tier2; ++at) {
        if (tree_.merged && tree_.cores_per_plane > 0) {
            add_cable(LinkClass::core_uplink,
                      tree_.core_link * core_bundle,
                      {first_tier2_ + at, first_core_});
            continue;
        }
        const std::uint32_t first = first_core_ + at % tier2 * tree_.cores_per_plane;
        for (std::uint32_t port = 0; port < tree_.tier2_uplinks(); ++port) {
            add_cable(LinkClass::core_uplink,
                      tree_.core_link,
                      {first_tier2_ + at, first + port % tree_.cores_per_plane});
        }
    }
}

std::uint32_t Fabric::num_ranks() const {
    return spec_.num_ranks();
}

bool Fabric::route(RankId from,
                   RankId to,
                   std::uint64_t flow_label,
                   Path& path,
                   std::uint32_t queue_pair,
                   const LinkState& state) const {
    if (node_of(from) == node_of(to)) {
        gpu_to_gpu(from, to, path);
        return true;
    }
    const NicPort out = nic_towards(from, to);
    const NicPort in = nic_towards(to, from);
    gpu_to_nic(from, out.nic, path);
    if (!route_switches(out, in, flow_label, queue_pair, path, state)) {
        return false;
    }
    nic_to_gpu(in.nic, to, path);
    return true;
}

bool Fabric::route_switches(NicPort from,
                            NicPort to,
                            std::uint64_t flow_label,
                            std::uint32_t queue_pair,
                            Path& path,
                            const LinkState& state) const {
    if (from.is_ethernet()) {
        const LinkId out = nic_out(from);
        const LinkId in = nic_in(to);
        if (!state.is_up(static_cast<std::uint32_t>(index(out))) ||
            !state.is_up(static_cast<std::uint32_t>(index(in)))) {
            return false;
        }
        path.add(out, link_latency(out));
        path.add(in, link_latency(in));
        return true;
    }
    return paths_ ? paths_->route(from, to, flow_label, queue_pair, path, state)
                  : router_.route(from, to, flow_label, queue_pair, path, state);
}

Fabric::WayOut Fabric::way_out(RankId from, RankId to) const {
    const NicPort own = nic_towards(from, to);
    // GPUs with equal local indices have NICs with equal indices.
    const std::uint32_t proxy = local_of(to);
    const NicPort on_rail{.node = own.node, .nic = wirings_.of(own.node).nic_of_gpu(proxy)};
    const bool through_proxy = !own.is_ethernet() && on_rail != own &&
                               node_spec(own.node).intra_node != IntraNodeKind::pcie &&
                               runs_a_rank(own.node * spec_.node.gpus_per_node + proxy);
    return through_proxy ? WayOut{.gpu = proxy, .nic = on_rail}
                         : WayOut{.gpu = local_of(from), .nic = own};
}

void Fabric::way_to_nic(RankId from, const WayOut& way, Path& path) const {
    if (way.gpu == local_of(from)) {
        gpu_to_nic(from, way.nic.nic, path);
        return;
    }
    const std::uint32_t base = first_link_of_node(way.nic.node);
    const NodeWiring& wiring = wirings_.of(way.nic.node);
    wiring.gpu_to_gpu(base, local_of(from), way.gpu, path);
    wiring.gpu_to_nic(base, way.gpu, way.nic.nic, path);
}

bool Fabric::route_pxn(
    RankId from, RankId to, std::uint64_t flow_label, Path& path, const LinkState& state) const {
    const NicPort in = nic_towards(to, from);
    const WayOut out = way_out(from, to);
    if (out.nic.node == in.node || nic_towards(from, to) == out.nic) {
        return route(from, to, flow_label, path, 0, state);
    }
    way_to_nic(from, out, path);
    const bool found = route_switches(out.nic, in, flow_label, 0, path, state);
    nic_to_gpu(in.nic, to, path);
    return found;
}

bool Fabric::route_nics(NicPort from,
                        NicPort to,
                        std::uint64_t flow_label,
                        Path& path,
                        std::uint32_t queue_pair,
                        const LinkState& state) const {
    return route_switches(from, to, flow_label, queue_pair, path, state);
}

// Spraying and static routes send all queue pairs the same way.
std::uint32_t Fabric::queue_pairs_apart() const {
    const RoutingKind routing = spec_.fabric.routing;
    const bool apart = routing == RoutingKind::ecmp || routing == RoutingKind::adaptive;
    return apart ? spec_.fabric.qps_per_connection : 1;
}

std::uint64_t Fabric::num_paths(NicPort from, NicPort to) const {
    if (from.is_ethernet()) {
        return from == to ? 0 : 1;
    }
    return paths_ ? paths_->num_paths(from, to) : tree_.num_paths(from, to);
}

void Fabric::gpu_to_gpu(RankId from, RankId to, Path& path) const {
    const std::uint32_t node = node_of(from);
    ORRERY_CHECK(node == node_of(to));
    wirings_.of(node).gpu_to_gpu(first_link_of_node(node), local_of(from), local_of(to), path);
}

void Fabric::gpu_to_nic(RankId rank, std::uint32_t nic, Path& path) const {
    const std::uint32_t node = node_of(rank);
    // The Ethernet adapter is at the first socket
    const std::uint32_t at = nic == kEthernetNic ? 0 : nic;
    wirings_.of(node).gpu_to_nic(first_link_of_node(node), local_of(rank), at, path);
}

void Fabric::nic_to_gpu(std::uint32_t nic, RankId rank, Path& path) const {
    const std::uint32_t node = node_of(rank);
    const std::uint32_t at = nic == kEthernetNic ? 0 : nic;
    wirings_.of(node).nic_to_gpu(first_link_of_node(node), at, local_of(rank), path);
}

LinkId Fabric::nvlink_out(RankId rank) const {
    const std::uint32_t node = node_of(rank);
    ORRERY_CHECK(node_spec(node).intra_node == IntraNodeKind::nvswitch);
    return to_id<LinkId>(first_link_of_node(node) + wirings_.of(node).nvlink_out(local_of(rank)));
}

LinkId Fabric::nvlink_in(RankId rank) const {
    const std::uint32_t node = node_of(rank);
    ORRERY_CHECK(node_spec(node).intra_node == IntraNodeKind::nvswitch);
    return to_id<LinkId>(first_link_of_node(node) + wirings_.of(node).nvlink_in(local_of(rank)));
}

LinkId Fabric::pcie_out(RankId rank) const {
    const std::uint32_t node = node_of(rank);
    return to_id<LinkId>(first_link_of_node(node) + wirings_.of(node).pcie_out(local_of(rank)));
}

LinkId Fabric::pcie_in(RankId rank) const {
    const std::uint32_t node = node_of(rank);
    return to_id<LinkId>(first_link_of_node(node) + wirings_.of(node).pcie_in(local_of(rank)));
}

LinkId Fabric::nic_out(NicPort port) const {
    if (port.is_ethernet()) {
        return to_id<LinkId>(first_ethernet_link_ + 2 * port.node);
    }
    return to_id<LinkId>(first_link_of_node(spec_.num_nodes) + tree_.nic_link(port));
}

LinkId Fabric::nic_in(NicPort port) const {
    if (port.is_ethernet()) {
        return to_id<LinkId>(first_ethernet_link_ + 2 * port.node + 1);
    }
    return to_id<LinkId>(first_link_of_node(spec_.num_nodes) + tree_.nic_link(port) + 1);
}

std::uint32_t Fabric::vertex_of_root(std::uint32_t node, std::uint32_t socket) const {
    return first_root_ + node * wirings_.most_sockets() + socket;
}

std::uint32_t Fabric::vertex_of_nic(NicPort port) const {
    return first_nic_ + port.node * tree_.nics_per_node + port.nic;
}

std::string Fabric::vertex_name(std::uint32_t vertex) const {
    const auto in_node = [](std::uint32_t i, std::uint32_t per_node, const char* what) {
        return fmt::format("node {} {} {}", i / per_node, what, i % per_node);
    };
    if (vertex < first_nvswitch_) {
        return in_node(vertex, spec_.node.gpus_per_node, "gpu");
    }
    if (vertex < first_root_) {
        return fmt::format("node {} nvswitch", vertex - first_nvswitch_);
    }
    if (vertex < first_nic_) {
        return in_node(vertex - first_root_, wirings_.most_sockets(), "socket");
    }
    if (vertex < first_leaf_) {
        return in_node(vertex - first_nic_, tree_.nics_per_node, "nic");
    }
    const TierNames names = tier_names(spec_.fabric);
    if (vertex < first_tier2_ && paths_) {
        return spec_.fabric.cables->switches()[vertex - first_leaf_];
    }
    if (vertex < first_tier2_) {
        return fmt::format("{} {}", names.leaf, vertex - first_leaf_);
    }
    if (vertex < first_core_) {
        return fmt::format("{} {}", names.tier2, vertex - first_tier2_);
    }
    if (vertex < first_ethernet_) {
        return fmt::format("core {}", vertex - first_core_);
    }
    if (vertex >= first_drives_) {
        return in_node(vertex - first_drives_, wirings_.most_memories(), "drives");
    }
    if (vertex >= first_memory_) {
        return in_node(vertex - first_memory_, wirings_.most_memories(), "memory");
    }
    return vertex == first_ethernet_ + spec_.num_nodes
               ? "ethernet switch"
               : fmt::format("node {} ethernet", vertex - first_ethernet_);
}

std::optional<LinkId> Fabric::find_link(std::string_view wanted) const {
    for (std::size_t link = 0; link < links_.size(); ++link) {
        if (link_name(to_id<LinkId>(link)) == wanted) {
            return to_id<LinkId>(link);
        }
    }
    return std::nullopt;
}

std::string Fabric::link_name(LinkId link) const {
    const LinkEnds& ends = ends_[index(link)];
    return fmt::format("{} -> {}", vertex_name(ends.from), vertex_name(ends.to));
}

}  // namespace orrery
