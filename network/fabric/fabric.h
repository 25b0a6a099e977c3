// SPDX-License-Identifier: Apache-2.0
// The fabric: GPUs, NVSwitches, PCIe, NICs and switches, and the directed links between them.
// build_fabric() lays out the links once. Paths are then arithmetic on coordinates, without search
// or allocation. Tests compare this arithmetic with a breadth-first search of the fabric as a graph
// (tests/network/fabric_graph.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/program/network_model.h"
#include "network/fabric/cluster_check.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/link_class.h"
#include "network/fabric/node_kinds.h"
#include "network/fabric/node_wiring.h"
#include "network/fabric/path.h"
#include "network/fabric/routing.h"
#include "network/fabric/shortest_paths.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

class Fabric {
public:
    const ClusterSpec& spec() const { return spec_; }
    std::uint32_t num_ranks() const;

    // By LinkId; link_class is a LinkClass.
    std::span<const LinkInfo> links() const { return links_; }
    std::span<const std::string> link_class_names() const { return class_names_; }
    // Sets the capacity of a link that is slow from the start; zero if it is dead.
    void set_capacity(LinkId link, Bandwidth capacity) { links_[index(link)].capacity = capacity; }
    Time link_latency(LinkId link) const;
    // For messages: "node 3 nic 2 -> tor 18".
    std::string link_name(LinkId link) const;
    std::optional<LinkId> find_link(std::string_view link_name) const;

    // Placement.
    std::uint32_t gpu_of(RankId rank) const {
        return spec_.gpu_of(static_cast<std::uint32_t>(index(rank)));
    }
    std::uint32_t node_of(RankId rank) const { return gpu_of(rank) / spec_.node.gpus_per_node; }
    std::uint32_t local_of(RankId rank) const { return gpu_of(rank) % spec_.node.gpus_per_node; }
    NicPort nic_of(RankId rank) const {
        const std::uint32_t node = node_of(rank);
        return {.node = node, .nic = wirings_.of(node).nic_of_gpu(local_of(rank))};
    }
    // The kind of a rank's node, as a number and as its description.
    std::uint32_t kind_of(RankId rank) const { return spec_.kind_of_node(node_of(rank)); }
    const NodeSpec& node_spec(std::uint32_t node) const { return wirings_.spec_of(node); }
    // Whether two nodes reach each other only over TCP.
    bool over_tcp(std::uint32_t node_a, std::uint32_t node_b) const {
        return speak_tcp(spec_, spec_.kind_of_node(node_a), spec_.kind_of_node(node_b));
    }
    // The NIC through which a rank reaches a rank of another node.
    NicPort nic_towards(RankId rank, RankId peer) const {
        return over_tcp(node_of(rank), node_of(peer))
                   ? NicPort{.node = node_of(rank), .nic = kEthernetNic}
                   : nic_of(rank);
    }

    // Paths. Each function *appends* links and their latency to `path`.
    //
    // From GPU to GPU. Inside a node over NVLink or PCIe; otherwise over PCIe to the GPU's own NIC,
    // through the switches, and from the receiver's own NIC to the receiver. Nothing if from == to.
    // TCP has no GPUDirect: its bytes are copied to the memory of the first socket, whose links to
    // the Ethernet adapter and the kernel's copies are at least as fast as the adapter. False if
    // the links that are up no longer connect them; `path` is then not usable.
    bool route(RankId from,
               RankId to,
               std::uint64_t flow_label,
               Path& path,
               std::uint32_t queue_pair = 0,
               const LinkState& state = {}) const;
    // The exit of a message from the sender's node with PXN: over NVLink to the local GPU whose NIC
    // has the receiver's index, so that the network part stays on the receiver's rail. It is the
    // sender's own NIC if there is no NVLink, or if the job does not use that GPU, as in a partly
    // filled rack.
    struct WayOut {
        std::uint32_t gpu = 0;  // local index in the node
        NicPort nic;
    };
    WayOut way_out(RankId from, RankId to) const;
    // The links of the exit inside the sender's node.
    void way_to_nic(RankId from, const WayOut& way, Path& path) const;
    // The same as route(), through that exit.
    bool route_pxn(RankId from,
                   RankId to,
                   std::uint64_t flow_label,
                   Path& path,
                   const LinkState& state = {}) const;
    // The network part from NIC to NIC, which a NCCL channel uses on its rail. `queue_pair` <
    // qps_per_connection; each queue pair of a connection has its own 5-tuple.
    bool route_nics(NicPort from,
                    NicPort to,
                    std::uint64_t flow_label,
                    Path& path,
                    std::uint32_t queue_pair = 0,
                    const LinkState& state = {}) const;
    // The number of queue pairs of a connection whose paths may differ.
    std::uint32_t queue_pairs_apart() const;
    // The number of equal-cost paths through the switches; 0 from a NIC to itself.
    std::uint64_t num_paths(NicPort from, NicPort to) const;

    // The parts of a path inside one node.
    void gpu_to_gpu(RankId from, RankId to, Path& path) const;  // both on one node
    void gpu_to_nic(RankId rank, std::uint32_t nic, Path& path) const;
    void nic_to_gpu(std::uint32_t nic, RankId rank, Path& path) const;
    LinkId nvlink_out(RankId rank) const;  // GPU to NVSwitch; only for nodes with an NVSwitch
    LinkId nvlink_in(RankId rank) const;
    LinkId pcie_out(RankId rank) const;
    LinkId pcie_in(RankId rank) const;
    // The load of a copy between two memory tiers of the rank (network/fabric/memory_tiers.h).
    TransferPhase copy(RankId rank, const CopyCall& call) const;
    LinkId nic_out(NicPort port) const;  // NIC to its ToR
    LinkId nic_in(NicPort port) const;

    const NodeWiring& wiring(std::uint32_t node = 0) const { return wirings_.of(node); }
    // For kind `file`, one switch with all NICs replaces the real switches.
    const SwitchTree& tree() const { return tree_; }

    // The graph's vertices, numbered in this order: GPUs, one NVSwitch per node, one PCIe root per
    // socket, NICs, leaves, tier-2 switches, cores, Ethernet adapters, the Ethernet switch, host
    // memories, and the drives at the same sockets. With spraying, the switches of a block are one
    // vertex, and so are all cores.
    std::span<const LinkEnds> link_ends() const { return ends_; }
    std::uint32_t num_vertices() const { return num_vertices_; }
    std::uint32_t vertex_of_gpu(std::uint32_t gpu) const { return gpu; }
    std::uint32_t vertex_of_root(std::uint32_t node, std::uint32_t socket) const;
    std::uint32_t vertex_of_nic(NicPort port) const;
    std::string vertex_name(std::uint32_t vertex) const;

private:
    friend Result<Fabric> build_fabric(const ClusterSpec& spec);
    explicit Fabric(const ClusterSpec& spec, const SwitchTree& tree);
    void number_vertices();
    void lay_node_links();
    void lay_switch_links();
    void lay_listed_cables(const CableList& cables);
    void lay_ethernet();
    void lay_memory_tiers();
    void add_cable(LinkClass link_class, Bandwidth usable_capacity, LinkEnds upward);
    bool route_switches(NicPort from,
                        NicPort to,
                        std::uint64_t flow_label,
                        std::uint32_t queue_pair,
                        Path& path,
                        const LinkState& state) const;
    bool runs_a_rank(std::uint32_t gpu) const { return rank_on_.empty() || rank_on_[gpu]; }
    std::uint32_t first_link_of_node(std::uint32_t node) const {
        return node == spec_.num_nodes ? wirings_.num_links() : wirings_.first_link(node);
    }

    ClusterSpec spec_;
    NodeWirings wirings_;
    SwitchTree tree_;
    Router router_;
    std::shared_ptr<const ShortestPaths> paths_;  // for kind `file`, instead of the router
    std::vector<bool> rank_on_;                   // by GPU; empty: every GPU has a rank
    std::vector<LinkInfo> links_;
    std::vector<LinkEnds> ends_;
    std::vector<std::string> class_names_;
    std::array<Time, kNumLinkClasses> class_latency_;
    std::uint32_t first_nvswitch_ = 0;
    std::uint32_t first_root_ = 0;
    std::uint32_t first_nic_ = 0;
    std::uint32_t first_leaf_ = 0;
    std::uint32_t first_tier2_ = 0;
    std::uint32_t first_core_ = 0;
    std::uint32_t first_ethernet_ = 0;
    std::uint32_t num_vertices_ = 0;
    std::uint32_t first_memory_ = 0;
    std::uint32_t first_drives_ = 0;
    std::uint32_t first_ethernet_link_ = 0;
    std::uint32_t first_tier_link_ = 0;
};

// The errors are those of check_cluster().
Result<Fabric> build_fabric(const ClusterSpec& spec);

}  // namespace orrery
