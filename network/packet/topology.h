// SPDX-License-Identifier: Apache-2.0
// Hosts, switches and the directed ports between them for the packet model: a folded Clos network
// whose hosts are numbered leaf by leaf, so that every forwarding decision is arithmetic. Ports
// come in pairs, one per direction: port 2c leads up over cable c, port 2c + 1 down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "network/fabric/fabric.h"
#include "network/packet/packet.h"

namespace orrery::packet {

// Switch numbers: leaves, then tier 2, then cores, as in network/fabric/switch_tree.h.
struct ClosShape {
    std::uint32_t hosts_per_leaf = 1;
    std::uint32_t leaves_per_block = 1;
    std::uint32_t num_blocks = 1;
    std::uint32_t tier2_per_block = 0;  // 0: a single block with a single leaf
    // Parallel cables from a leaf to each tier-2 switch of its block
    std::uint32_t leaf_cables = 1;
    std::uint32_t cores_per_plane = 0;  // 0: no third tier, and a single block
    std::uint32_t core_cables = 1;
    Bandwidth host_rate;
    Bandwidth uplink_rate;  // zero: as the hosts
    Bandwidth core_rate;    // zero: as the uplinks
    Time host_latency;      // of one link of a host
    Time link_latency;      // of a link between switches

    std::uint32_t num_leaves() const { return leaves_per_block * num_blocks; }
    std::uint32_t num_hosts() const { return hosts_per_leaf * num_leaves(); }
    std::uint32_t num_tier2() const { return tier2_per_block * num_blocks; }
    std::uint32_t num_cores() const { return tier2_per_block * cores_per_plane; }
    // The number of links between the farthest hosts.
    std::uint32_t diameter() const { return cores_per_plane > 0 ? 6 : tier2_per_block > 0 ? 4 : 2; }
};

struct PortInfo {
    std::uint32_t from = 0;  // node numbers: hosts, then switches
    std::uint32_t to = 0;
    Bandwidth rate;
    Time latency;
};

class Topology {
public:
    // The error names an impossible number.
    static Result<Topology> build(const ClosShape& shape);
    // The switches and NICs of a fabric, never merged, whatever its routing. Ports for missing NICs
    // of a partly filled fabric exist, but are not used.
    static Result<Topology> build(const Fabric& fabric);

    const ClosShape& shape() const { return shape_; }
    std::uint32_t num_hosts() const { return shape_.num_hosts(); }
    std::uint32_t num_nodes() const { return num_hosts() + num_switches(); }
    std::uint32_t num_switches() const { return static_cast<std::uint32_t>(switches_.size()); }
    std::uint32_t num_ports() const { return static_cast<std::uint32_t>(ports_.size()); }
    const PortInfo& port(std::uint32_t id) const { return ports_[id]; }
    // Sets the rate of a port; zero is a dead link.
    void set_rate(std::uint32_t id, Bandwidth rate) { ports_[id].rate = rate; }
    bool is_host(std::uint32_t node) const { return node < num_hosts_; }
    // Outgoing port of the host
    std::uint32_t host_port(std::uint32_t host) const { return 2 * host; }
    bool is_host_port(std::uint32_t port) const { return port < 2 * num_hosts_ && port % 2 == 0; }
    static std::uint32_t reverse(std::uint32_t port) { return port ^ 1U; }
    std::string node_name(std::uint32_t node) const;  // "host 3", "leaf 0", "spine 2", "core 1"
    std::string port_name(std::uint32_t port) const;  // "leaf 0 -> spine 2"
    // Upward port p of a leaf, or of a tier-2 switch. Its reverse() leads down.
    std::uint32_t leaf_uplink(std::uint32_t leaf, std::uint32_t p) const;
    std::uint32_t core_uplink(std::uint32_t tier2, std::uint32_t p) const;
    std::uint32_t leaf_of(std::uint32_t host) const { return host / shape_.hosts_per_leaf; }
    std::uint32_t links_between(std::uint32_t from, std::uint32_t to) const;

    // The port by which a packet leaves `node` (a switch) for host `destination`. `hash` selects
    // among equal ports.
    std::uint32_t next_port(std::uint32_t node,
                            std::uint32_t destination,
                            std::uint32_t hash) const {
        const Switch& at = switches_[node - num_hosts_];
        if (destination - at.first_host < at.num_hosts) {
            const std::uint32_t child = (destination - at.first_host) / at.hosts_per_child;
            const std::uint32_t cable = at.cables == 1 ? 0 : pick(hash, at.cables);
            return at.first_down + child * at.child_stride + cable * at.cable_stride;
        }
        return at.first_up + 2 * pick(hash, at.num_up);
    }
    // The number of equal next hops towards `destination`.
    std::uint32_t num_choices(std::uint32_t node, std::uint32_t destination) const;

    // The host and the ports of a fabric's NICs and links.
    std::uint32_t host_of(NicPort nic) const;
    // kNone: there is none
    std::uint32_t port_of(LinkId link) const { return port_of_link_[index(link)]; }

private:
    struct Switch {
        std::uint32_t first_host = 0;  // lowest host below it
        std::uint32_t num_hosts = 0;
        std::uint32_t hosts_per_child = 1;
        std::uint32_t first_down = 0;
        std::uint32_t child_stride = 2;
        std::uint32_t cables = 1;  // parallel cables to one child
        std::uint32_t cable_stride = 2;
        std::uint32_t first_up = 0;
        std::uint32_t num_up = 0;
    };
    static std::uint32_t pick(std::uint32_t hash, std::uint32_t n) {
        return static_cast<std::uint32_t>(std::uint64_t{hash} * n >> 32);
    }
    explicit Topology(const ClosShape& shape);
    void add_cable(std::uint32_t lower, std::uint32_t upper, Bandwidth rate, Time latency);
    void add_leaves();
    void add_tier2();
    void add_cores();
    void map_fabric_links(const Fabric& fabric, const SwitchTree& tree);

    ClosShape shape_;
    std::uint32_t num_hosts_ = 0;
    SwitchTree tree_;  // of a fabric
    std::vector<PortInfo> ports_;
    std::vector<Switch> switches_;
    std::vector<std::uint32_t> port_of_link_;
};

}  // namespace orrery::packet
