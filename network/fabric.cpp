// SPDX-License-Identifier: Apache-2.0
#include "network/fabric.h"

#include <fmt/format.h>

#include "engine/check.h"
#include "network/cable_list.h"
#include "network/switch_counts.h"

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

Result<void> check_node(const ClusterSpec& spec) {
    const NodeSpec& node = spec.node;
    if (node.gpus_per_node == 0 || spec.num_nodes == 0) {
        return fail("cluster.nodes",
                    "the cluster has no GPUs",
                    "nodes and gpus_per_node must be at least 1");
    }
    if (static_cast<std::uint64_t>(spec.num_nodes) * node.gpus_per_node > kClusterGpusMax) {
        return fail("cluster.nodes",
                    "the cluster has too many GPUs",
                    fmt::format("at most {}", kClusterGpusMax));
    }
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
    for (const double efficiency : {node.nvlink_efficiency, node.pcie_efficiency}) {
        if (!(efficiency > 0 && efficiency <= 1)) {
            return fail("cluster.node",
                        fmt::format("an efficiency of the node is {}", efficiency),
                        "0 < it <= 1");
        }
    }
    return check_placement(spec);
}

// GPUs of an NVLink domain belong to its trays evenly; so do its NICs (tree_of_leaf_sets).
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

std::vector<std::string> class_names_of(const FabricSpec& fabric) {
    const TierNames names = tier_names(fabric);
    return {"nvlink",
            "pcie",
            "inter-socket",
            "nic",
            fabric.kind == FabricKind::file ? "switch-switch"
                                            : fmt::format("{}-{}", names.leaf, names.tier2),
            fmt::format("{}-core", names.tier2)};
}

// The tree of a cluster that can be built.
Result<SwitchTree> checked_tree(const ClusterSpec& spec) {
    if (auto checked = check_node(spec); !checked) {
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
    const double cables =
        tree->num_cables() + static_cast<double>(spec.num_gpus()) * spec.node.gpus_per_node;
    if (cables > kCablesMax) {
        return fail("cluster.fabric",
                    fmt::format("the fabric needs {:.4g} million cables", cables * 1e-6),
                    fmt::format("at most {:.4g} million", kCablesMax * 1e-6));
    }
    return tree;
}

}  // namespace

Result<void> check_cluster(const ClusterSpec& spec) {
    const auto tree = checked_tree(spec);
    return tree ? Result<void>{} : unexpected<Error>(tree.error());
}

Result<Fabric> build_fabric(const ClusterSpec& spec) {
    const auto tree = checked_tree(spec);
    if (!tree) {
        return unexpected<Error>(tree.error());
    }
    return Fabric(spec, *tree);
}

Fabric::Fabric(const ClusterSpec& spec, const SwitchTree& tree)
    : spec_(spec),
      wiring_(spec.node, spec.fabric.nics_per_node),
      tree_(tree),
      router_(tree, spec.fabric, spec.num_nodes * wiring_.num_links()),
      class_names_(class_names_of(spec.fabric)) {
    const Time hop = spec.fabric.link_latency;
    class_latency_ = {spec.node.nvlink_latency,
                      spec.node.pcie_latency,
                      Time{},
                      hop + spec.fabric.nic_latency,
                      hop,
                      hop};
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
    links_.reserve(num_links);
    ends_.reserve(num_links);
    lay_node_links();
    if (paths_) {
        lay_listed_cables(*spec.fabric.cables);
    } else {
        lay_switch_links();
    }
    ORRERY_CHECK(links_.size() == num_links && ends_.size() == num_links);
}

void Fabric::number_vertices() {
    const std::uint32_t nodes = spec_.num_nodes;
    const bool nvswitch = spec_.node.intra_node == IntraNodeKind::nvswitch;
    first_nvswitch_ = spec_.num_gpus();
    first_root_ = first_nvswitch_ + (nvswitch ? nodes : 0);
    first_nic_ = first_root_ + nodes * wiring_.num_sockets();
    first_leaf_ = first_nic_ + nodes * tree_.nics_per_node;
    const bool listed = spec_.fabric.kind == FabricKind::file;
    first_tier2_ =
        first_leaf_ + (listed ? static_cast<std::uint32_t>(spec_.fabric.cables->switches().size())
                              : tree_.num_leaves);
    first_core_ = first_tier2_ + (tree_.merged ? tree_.num_blocks : tree_.num_tier2());
    const std::uint32_t merged_cores = tree_.cores_per_plane > 0 ? 1 : 0;
    num_vertices_ = first_core_ + (tree_.merged ? merged_cores : tree_.num_cores());
}

void Fabric::lay_node_links() {
    for (std::uint32_t node = 0; node < spec_.num_nodes; ++node) {
        wiring_.append_links(links_);
        wiring_.append_ends(node * spec_.node.gpus_per_node,
                            first_nvswitch_ + node,
                            vertex_of_root(node, 0),
                            ends_);
    }
}

void Fabric::add_cable(LinkClass link_class, Bandwidth raw, LinkEnds upward) {
    const LinkInfo info{usable(raw, spec_.fabric.efficiency),
                        static_cast<std::uint16_t>(link_class)};
    links_.insert(links_.end(), 2, info);
    ends_.push_back(upward);
    ends_.push_back({upward.to, upward.from});
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
    if (paths_ && info.link_class >= static_cast<std::uint16_t>(LinkClass::nic)) {
        return paths_->link_latency(static_cast<std::uint32_t>(index(link)));
    }
    return class_latency_[info.link_class];
}

void Fabric::lay_switch_links() {
    for (std::uint32_t node = 0; node < spec_.num_nodes; ++node) {
        for (std::uint32_t nic = 0; nic < tree_.nics_per_node; ++nic) {
            const NicPort port{.node = node, .nic = nic};
            add_cable(LinkClass::nic,
                      spec_.fabric.nic_bandwidth,
                      {vertex_of_nic(port), first_leaf_ + tree_.leaf_of(port)});
        }
    }
    if (tree_.num_blocks == 0) {
        return;
    }
    // A merged tree has one link, to its block's or all cores' only vertex, for each whole bundle.
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
    const NicPort out = nic_of(from);
    const NicPort in = nic_of(to);
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
    return paths_ ? paths_->route(from, to, flow_label, queue_pair, path, state)
                  : router_.route(from, to, flow_label, queue_pair, path, state);
}

Fabric::WayOut Fabric::way_out(RankId from, RankId to) const {
    const NicPort own = nic_of(from);
    // Equal local indices have NICs of equal index.
    const std::uint32_t proxy = local_of(to);
    const NicPort on_rail{.node = own.node, .nic = wiring_.nic_of_gpu(proxy)};
    const bool through_proxy = spec_.node.intra_node != IntraNodeKind::pcie && on_rail != own &&
                               runs_a_rank(own.node * spec_.node.gpus_per_node + proxy);
    return through_proxy ? WayOut{.gpu = proxy, .nic = on_rail}
                         : WayOut{.gpu = local_of(from), .nic = own};
}

bool Fabric::route_pxn(
    RankId from, RankId to, std::uint64_t flow_label, Path& path, const LinkState& state) const {
    const NicPort in = nic_of(to);
    const WayOut out = way_out(from, to);
    if (out.nic.node == in.node || nic_of(from) == out.nic) {
        return route(from, to, flow_label, path, 0, state);
    }
    const std::uint32_t base = first_link_of_node(out.nic.node);
    wiring_.gpu_to_gpu(base, local_of(from), out.gpu, path);
    wiring_.gpu_to_nic(base, out.gpu, out.nic.nic, path);
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

// Spraying and static routes send all of them the same way.
std::uint32_t Fabric::queue_pairs_apart() const {
    const RoutingKind routing = spec_.fabric.routing;
    const bool apart = routing == RoutingKind::ecmp || routing == RoutingKind::adaptive;
    return apart ? spec_.fabric.qps_per_connection : 1;
}

std::uint64_t Fabric::num_paths(NicPort from, NicPort to) const {
    return paths_ ? paths_->num_paths(from, to) : tree_.num_paths(from, to);
}

void Fabric::gpu_to_gpu(RankId from, RankId to, Path& path) const {
    ORRERY_CHECK(node_of(from) == node_of(to));
    wiring_.gpu_to_gpu(first_link_of_node(node_of(from)), local_of(from), local_of(to), path);
}

void Fabric::gpu_to_nic(RankId rank, std::uint32_t nic, Path& path) const {
    wiring_.gpu_to_nic(first_link_of_node(node_of(rank)), local_of(rank), nic, path);
}

void Fabric::nic_to_gpu(std::uint32_t nic, RankId rank, Path& path) const {
    wiring_.nic_to_gpu(first_link_of_node(node_of(rank)), nic, local_of(rank), path);
}

LinkId Fabric::nvlink_out(RankId rank) const {
    ORRERY_CHECK(spec_.node.intra_node == IntraNodeKind::nvswitch);
    return to_id<LinkId>(first_link_of_node(node_of(rank)) + wiring_.nvlink_out(local_of(rank)));
}

LinkId Fabric::nvlink_in(RankId rank) const {
    ORRERY_CHECK(spec_.node.intra_node == IntraNodeKind::nvswitch);
    return to_id<LinkId>(first_link_of_node(node_of(rank)) + wiring_.nvlink_in(local_of(rank)));
}

LinkId Fabric::pcie_out(RankId rank) const {
    return to_id<LinkId>(first_link_of_node(node_of(rank)) + wiring_.pcie_out(local_of(rank)));
}

LinkId Fabric::pcie_in(RankId rank) const {
    return to_id<LinkId>(first_link_of_node(node_of(rank)) + wiring_.pcie_in(local_of(rank)));
}

LinkId Fabric::nic_out(NicPort port) const {
    return to_id<LinkId>(first_link_of_node(spec_.num_nodes) + tree_.nic_link(port));
}

LinkId Fabric::nic_in(NicPort port) const {
    return to_id<LinkId>(first_link_of_node(spec_.num_nodes) + tree_.nic_link(port) + 1);
}

std::uint32_t Fabric::vertex_of_root(std::uint32_t node, std::uint32_t socket) const {
    return first_root_ + node * wiring_.num_sockets() + socket;
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
        return in_node(vertex - first_root_, wiring_.num_sockets(), "socket");
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
    return fmt::format("core {}", vertex - first_core_);
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
