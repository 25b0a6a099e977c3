// SPDX-License-Identifier: Apache-2.0
#include "network/packet/topology.h"

#include <fmt/format.h>

#include "engine/base/check.h"

namespace orrery::packet {

namespace {

constexpr std::uint64_t kHostsMax = 1'000'000;
constexpr std::uint64_t kCablesMax = 16'000'000;

Result<void> check_shape(const ClosShape& shape) {
    const std::uint64_t hosts = std::uint64_t{shape.hosts_per_leaf} * shape.num_leaves();
    if (hosts == 0 || hosts > kHostsMax) {
        return fail({},
                    fmt::format("the packet network has {} hosts", hosts),
                    fmt::format("1 to {}", kHostsMax));
    }
    if (shape.host_rate <= Bandwidth{} || shape.uplink_rate < Bandwidth{} ||
        shape.core_rate < Bandwidth{}) {
        return fail({}, "a link of the packet network has no rate", "give rates above zero");
    }
    if (shape.host_latency < Time{} || shape.link_latency < Time{}) {
        return fail({}, "a link of the packet network has a negative latency", "give 0 or more");
    }
    if (shape.tier2_per_block == 0 && shape.num_leaves() > 1) {
        return fail({},
                    fmt::format("{} leaves have no switch above them", shape.num_leaves()),
                    "give tier2_per_block");
    }
    if (shape.cores_per_plane == 0 && shape.num_blocks > 1) {
        return fail({},
                    fmt::format("{} blocks have no cores above them", shape.num_blocks),
                    "give cores_per_plane");
    }
    const std::uint64_t uplinks = std::uint64_t{shape.tier2_per_block} * shape.leaf_cables;
    const std::uint64_t core_uplinks = std::uint64_t{shape.cores_per_plane} * shape.core_cables;
    const std::uint64_t cables =
        hosts + shape.num_leaves() * uplinks + shape.num_tier2() * core_uplinks;
    if (cables > kCablesMax || shape.leaf_cables == 0 || shape.core_cables == 0) {
        return fail({},
                    fmt::format("the packet network has {} cables", cables),
                    fmt::format("1 to {}", kCablesMax));
    }
    return {};
}

}  // namespace

Topology::Topology(const ClosShape& shape) : shape_(shape), num_hosts_(shape.num_hosts()) {
    if (shape_.uplink_rate == Bandwidth{}) {
        shape_.uplink_rate = shape_.host_rate;
    }
    if (shape_.core_rate == Bandwidth{}) {
        shape_.core_rate = shape_.uplink_rate;
    }
    for (std::uint32_t host = 0; host < num_hosts_; ++host) {
        add_cable(host, num_hosts_ + leaf_of(host), shape_.host_rate, shape_.host_latency);
    }
    add_leaves();
    add_tier2();
    add_cores();
}

Result<Topology> Topology::build(const ClosShape& shape) {
    if (auto checked = check_shape(shape); !checked) {
        return unexpected<Error>(checked.error());
    }
    return Topology(shape);
}

Result<Topology> Topology::build(const Fabric& fabric) {
    if (fabric.spec().fabric.kind == FabricKind::file) {
        return fail("cluster.fabric.kind",
                    "packets need a fabric of numbers, not of listed cables",
                    "clos, rail or single_switch; or fidelity: fluid");
    }
    if (!fabric.spec().kinds.empty()) {
        return fail("cluster.kinds",
                    "packets need nodes of one kind",
                    "network: fluid, or cluster.nodes and cluster.node");
    }
    ClusterSpec spec = fabric.spec();
    const bool merged = fabric.tree().merged;
    spec.fabric.routing = RoutingKind::ecmp;
    const auto unmerged = merged ? build_fabric(spec) : Result<Fabric>{fabric};
    if (!unmerged) {
        return unexpected<Error>(unmerged.error());
    }
    const SwitchTree& tree = unmerged->tree();
    const Time hop = spec.fabric.link_latency;
    const bool has_spines = tree.num_blocks > 0;
    auto topology = build(ClosShape{
        .hosts_per_leaf = tree.nics_per_leaf(),
        .leaves_per_block = has_spines ? tree.leaves_per_block() : tree.num_leaves,
        .num_blocks = has_spines ? tree.num_blocks : 1,
        .tier2_per_block = has_spines ? tree.tier2_per_block : 0,
        .leaf_cables = tree.leaf_cables,
        .cores_per_plane = tree.cores_per_plane,
        .core_cables = tree.core_cables,
        .host_rate = spec.fabric.nic_bandwidth,
        .uplink_rate = tree.uplink,
        .core_rate = tree.core_link,
        .host_latency = hop + spec.fabric.nic_latency,
        .link_latency = hop,
    });
    if (topology) {
        topology->tree_ = tree;
        topology->map_fabric_links(fabric, fabric.tree());
    }
    return topology;
}

void Topology::add_cable(std::uint32_t lower, std::uint32_t upper, Bandwidth rate, Time latency) {
    ports_.push_back({lower, upper, rate, latency});
    ports_.push_back({upper, lower, rate, latency});
}

void Topology::add_leaves() {
    const std::uint32_t uplinks = shape_.tier2_per_block * shape_.leaf_cables;
    const std::uint32_t first_tier2 = num_hosts_ + shape_.num_leaves();
    for (std::uint32_t leaf = 0; leaf < shape_.num_leaves(); ++leaf) {
        const std::uint32_t first_host = leaf * shape_.hosts_per_leaf;
        switches_.push_back({.first_host = first_host,
                             .num_hosts = shape_.hosts_per_leaf,
                             .first_down = 2 * first_host + 1,
                             .first_up = num_ports(),
                             .num_up = uplinks});
        const std::uint32_t block = leaf / shape_.leaves_per_block;
        for (std::uint32_t p = 0; p < uplinks; ++p) {
            add_cable(num_hosts_ + leaf,
                      first_tier2 + block * shape_.tier2_per_block + p % shape_.tier2_per_block,
                      shape_.uplink_rate,
                      shape_.link_latency);
        }
    }
}

void Topology::add_tier2() {
    const std::uint32_t uplinks = shape_.cores_per_plane * shape_.core_cables;
    const std::uint32_t first_core = num_hosts_ + shape_.num_leaves() + shape_.num_tier2();
    const std::uint32_t hosts_per_block = shape_.hosts_per_leaf * shape_.leaves_per_block;
    for (std::uint32_t number = 0; number < shape_.num_tier2(); ++number) {
        const std::uint32_t block = number / shape_.tier2_per_block;
        const std::uint32_t plane = number % shape_.tier2_per_block;
        switches_.push_back({
            .first_host = block * hosts_per_block,
            .num_hosts = hosts_per_block,
            .hosts_per_child = shape_.hosts_per_leaf,
            .first_down = reverse(leaf_uplink(block * shape_.leaves_per_block, plane)),
            .child_stride = 2 * shape_.tier2_per_block * shape_.leaf_cables,
            .cables = shape_.leaf_cables,
            .cable_stride = 2 * shape_.tier2_per_block,
            .first_up = num_ports(),
            .num_up = uplinks,
        });
        for (std::uint32_t p = 0; p < uplinks; ++p) {
            const std::uint32_t core = plane * shape_.cores_per_plane + p % shape_.cores_per_plane;
            add_cable(num_hosts_ + shape_.num_leaves() + number,
                      first_core + core,
                      shape_.core_rate,
                      shape_.link_latency);
        }
    }
}

void Topology::add_cores() {
    const std::uint32_t uplinks = shape_.cores_per_plane * shape_.core_cables;
    for (std::uint32_t core = 0; core < shape_.num_cores(); ++core) {
        const std::uint32_t plane = core / shape_.cores_per_plane;
        switches_.push_back({
            .num_hosts = num_hosts_,
            .hosts_per_child = shape_.hosts_per_leaf * shape_.leaves_per_block,
            .first_down = reverse(core_uplink(plane, core % shape_.cores_per_plane)),
            .child_stride = 2 * shape_.tier2_per_block * uplinks,
            .cables = shape_.core_cables,
            .cable_stride = 2 * shape_.cores_per_plane,
        });
    }
}

std::uint32_t Topology::leaf_uplink(std::uint32_t leaf, std::uint32_t p) const {
    return switches_[leaf].first_up + 2 * p;
}

std::uint32_t Topology::core_uplink(std::uint32_t tier2, std::uint32_t p) const {
    return switches_[shape_.num_leaves() + tier2].first_up + 2 * p;
}

std::uint32_t Topology::num_choices(std::uint32_t node, std::uint32_t destination) const {
    const Switch& at = switches_[node - num_hosts_];
    return destination - at.first_host < at.num_hosts ? at.cables : at.num_up;
}

std::uint32_t Topology::links_between(std::uint32_t from, std::uint32_t to) const {
    if (from == to) {
        return 0;
    }
    if (leaf_of(from) == leaf_of(to)) {
        return 2;
    }
    const std::uint32_t per_block = shape_.leaves_per_block;
    return leaf_of(from) / per_block == leaf_of(to) / per_block ? 4 : 6;
}

std::string Topology::node_name(std::uint32_t node) const {
    if (node < num_hosts_) {
        return fmt::format("host {}", node);
    }
    std::uint32_t number = node - num_hosts_;
    if (number < shape_.num_leaves()) {
        return fmt::format("leaf {}", number);
    }
    number -= shape_.num_leaves();
    if (number < shape_.num_tier2()) {
        return fmt::format("spine {}", number);
    }
    return fmt::format("core {}", number - shape_.num_tier2());
}

std::string Topology::port_name(std::uint32_t port) const {
    return node_name(ports_[port].from) + " -> " + node_name(ports_[port].to);
}

std::uint32_t Topology::host_of(NicPort nic) const {
    return tree_.leaf_number(tree_.leaf_of(nic)) * tree_.nics_per_leaf() +
           tree_.index_under_leaf(nic);
}

// `tree` has the numbers of the fabric's links. A bundle of a merged tree represents many ports, so
// that none is assigned to it.
void Topology::map_fabric_links(const Fabric& fabric, const SwitchTree& tree) {
    port_of_link_.assign(fabric.links().size(), kNone);
    const std::size_t first = index(fabric.nic_out({.node = 0, .nic = 0}));
    const auto map = [&](std::size_t link, std::uint32_t port) {
        port_of_link_[first + link] = port;
        port_of_link_[first + link + 1] = reverse(port);
    };
    for (std::uint32_t node = 0; node < tree.num_nodes; ++node) {
        for (std::uint32_t nic = 0; nic < tree.nics_per_node; ++nic) {
            map(tree.nic_link({node, nic}), host_port(host_of({node, nic})));
        }
    }
    if (tree.merged || tree.num_blocks == 0) {
        return;
    }
    for (std::uint32_t leaf = 0; leaf < tree.num_leaves; ++leaf) {
        for (std::uint32_t p = 0; p < tree.leaf_uplinks(); ++p) {
            map(tree.leaf_link(leaf, p), leaf_uplink(tree.leaf_number(leaf), p));
        }
    }
    for (std::uint32_t tier2 = 0; tier2 < tree.num_tier2(); ++tier2) {
        for (std::uint32_t p = 0; p < tree.tier2_uplinks(); ++p) {
            map(tree.core_link_of(tier2 / tree.tier2_per_block, tier2 % tree.tier2_per_block, p),
                core_uplink(tier2, p));
        }
    }
}

}  // namespace orrery::packet
