// SPDX-License-Identifier: Apache-2.0
// The cluster of a scenario: its servers (nodes) and the network between them. The scenario reader
// fills it; network/fabric/fabric.h builds the graph. Bandwidths are raw line rates of one
// direction. The usable capacity of a link is its raw rate times the `efficiency` of its kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "network/fabric/nccl_choice_table.h"

namespace orrery {

class CableList;

enum class IntraNodeKind : std::uint8_t {
    nvswitch,     // every GPU reaches every other at its full NVLink bandwidth
    nvlink_mesh,  // point-to-point NVLinks: each pair has its share of the GPU's bandwidth
    pcie,         // through PCIe switches and the CPU
};

// Every field has an initialiser, so that designated initialisers may omit it.
struct NodeSpec {
    std::string name{};    // "dgx-a100-80g"
    std::string device{};  // catalogue name of the GPU
    std::uint32_t gpus_per_node = 8;
    // Servers that share one NVLink domain, which is then the node: a GB200 NVL72 has 18 trays.
    // GPUs and NICs are spread evenly over them, in order. For the fabric, a tray is a server, and
    // it fails alone.
    std::uint32_t trays = 1;
    // NICs of a tray; the fabric's `nics_per_node` counts those of all trays. 0: the fabric
    // decides.
    std::uint32_t nics_per_tray = 0;
    IntraNodeKind intra_node = IntraNodeKind::nvswitch;
    Bandwidth nvlink_bandwidth{};    // per GPU and direction, raw
    double nvlink_efficiency = 1.0;  // usable fraction: packet headers, flow control
    bool nvls = false;               // the NVSwitch can reduce (sm90 and later)
    Bandwidth pcie_bandwidth{};      // per GPU and direction, raw
    double pcie_efficiency = 1.0;
    Time nvlink_latency{};  // of one link; a path through the NVSwitch has two
    Time pcie_latency{};    // of one link between GPU (or NIC) and host
    // GPUs and NICs are spread evenly over the sockets, in order. Traffic between the sockets
    // shares one link per direction of `socket_bandwidth` (zero: no limit).
    std::uint32_t num_sockets = 1;  // 1 or 2
    Bandwidth socket_bandwidth{};
    // Memory tiers besides the GPUs' own (network/fabric/memory_tiers.h). If the node has trays,
    // values per server are per tray.
    Bandwidth c2c_bandwidth{};  // per GPU and direction; zero: copies use the PCIe link
    Bytes host_memory{};        // per server; zero: unknown, and copies to it are not possible
    Bandwidth host_memory_bandwidth{};  // per server, reads and writes together; zero: no limit
    std::uint32_t nvme_drives = 0;      // per server; files are striped over all of them
    Bandwidth nvme_read_bandwidth{};    // per drive
    Bandwidth nvme_write_bandwidth{};
    Bytes nvme_size{};     // per drive; zero: unknown, and files always fit
    bool amd_cpu = false;  // NCCL's tuning differs between Intel and AMD hosts
    // Speed of one thread of its CPUs, relative to the hosts of DeviceSpec::launch_cost.
    double host_speed = 1;

    bool operator==(const NodeSpec&) const = default;
};

enum class FabricKind : std::uint8_t {
    clos,           // network/fabric/clos.h
    rail,           // network/fabric/rail.h
    single_switch,  // every NIC on one switch that never blocks
    file,           // network/fabric/cable_list.h: any switches and cables
};
enum class RoutingKind : std::uint8_t {
    ecmp,         // each flow keeps the path that a hash of its 5-tuple selects
    spray,        // consecutive packets take all equal paths in turn
    static_rail,  // the destination decides the path (D-mod-k)
    adaptive,     // each flow keeps the path that was least loaded at its start
};
enum class HashSeeds : std::uint8_t {
    per_switch,
    one,  // equal for all switches: hash polarisation
};

struct FabricSpec {
    std::string name{};
    FabricKind kind = FabricKind::clos;
    std::uint32_t nics_per_node = 8;
    Bandwidth nic_bandwidth{};  // line rate per direction
    // Usable fraction of every cable, for example 4096/(4096+headers) for RoCE
    double efficiency = 1.0;
    Time nic_latency{};   // NIC and host software, once per end, without the PCIe link
    Time link_latency{};  // one cable, and the switch at its end
    // The time of NCCL's messages over this network, including software, if it is more than NCCL's
    // constants, which hold for a fast InfiniBand adapter; zero: it is not.
    Time message_latency{};
    // The latency that the network's plugin reports to NCCL. NCCL adds it to its constant for a
    // message between nodes, twice for Simple.
    Time reported_latency{};
    // The plugin sends messages up to this size before the receiver tells where to (eagerly), so
    // that they take `message_latency` at most; zero: none.
    Bytes eager_size{};
    Bytes nvls_tree_chunk{};  // that the plugin sets (NCCL_NVLSTREE_MAX_CHUNKSIZE); zero: NCCL's
    NcclChoiceTable nccl_choices{};  // of the plugin's tuner; empty: NCCL chooses
    std::uint32_t tiers = 3;         // 2: leaf-spine, 3: ToR (leaf), aggregation (spine), core
    std::uint32_t nodes_per_leaf_set = 32;  // servers (trays) that share one set of ToR switches
    // True: NIC i of a server connects to ToR i of its set (multi-rail). False: all NICs connect to
    // one ToR. A rail fabric is always multi-rail.
    bool multi_rail = true;
    // Of one ToR uplink (a split port: twice the NIC's); zero: the NIC's
    Bandwidth uplink_bandwidth{};
    double oversubscription = 1.0;    // ToR downlink bandwidth / uplink bandwidth
    std::uint32_t uplink_cables = 1;  // parallel cables between a ToR and each switch above it
    // Three tiers: ToR sets under one set of aggregation switches
    std::uint32_t leaf_sets_per_pod = 8;
    Bandwidth core_bandwidth{};           // of one aggregation uplink; zero: uplink_bandwidth
    double spine_oversubscription = 1.0;  // aggregation downlink / uplink bandwidth
    std::uint32_t core_cables = 1;  // parallel cables between an aggregation and each core switch
    // The ports of a switch at uplink_bandwidth (a slower NIC uses a fraction of a port). It is an
    // error if a switch needs more. 0: not checked.
    std::uint32_t switch_radix = 0;
    RoutingKind routing = RoutingKind::ecmp;
    std::uint32_t qps_per_connection = 1;  // queue pairs (5-tuples) of a connection
    std::uint64_t hash_seed = 0;
    HashSeeds hash_seeds = HashSeeds::per_switch;
    // The cables for kind `file`, then never null. Tiers, sets, uplinks and oversubscription have
    // no meaning for it.
    std::shared_ptr<const CableList> cables{};  // two specs are equal if they share the list

    bool operator==(const FabricSpec&) const = default;
};

// The protocol of a node's network adapters. RDMA connects adapters of the same class only. All
// other traffic uses TCP over the Ethernet that all nodes share (ClusterSpec::ethernet).
enum class NicClass : std::uint8_t {
    one_fabric,  // unspecified: all nodes reach each other over the cluster's fabric
    infiniband,
    roce,
    ethernet,  // without RDMA
};

// Equal nodes.
struct NodeKind {
    NodeSpec node{};
    std::uint32_t num_nodes = 1;
    NicClass nic_class = NicClass::one_fabric;
    std::uint32_t nics_per_node = 0;  // at most the fabric's; 0: as the fabric
    Bandwidth nic_bandwidth{};        // zero: as the fabric

    bool operator==(const NodeKind&) const = default;
};

struct ClusterSpec {
    std::uint32_t num_nodes = 1;  // of all kinds
    NodeSpec node{};              // of the first kind
    FabricSpec fabric{};
    // The kinds of nodes, in the order of node numbers. Empty: all nodes are `node`, with the
    // fabric's NICs. All kinds have the numbers of GPUs and trays of the first kind.
    std::vector<NodeKind> kinds{};
    // One switch that never blocks, and one adapter per node. Without nic_bandwidth there is none.
    FabricSpec ethernet{};
    // Servers that an operator knows to be slow: their share of all servers, and the additional
    // time of a kernel on them as a fraction.
    double slow_node_share = 0;
    double slow_node_slowdown = 0;
    // The place of rank r: GPU gpu_of_rank[r] % gpus_per_node of node gpu_of_rank[r] /
    // gpus_per_node. The entries are distinct and may leave out GPUs, for example in a last node
    // that the job does not fill. Empty: rank r runs on GPU r.
    std::vector<std::uint32_t> gpu_of_rank{};

    bool operator==(const ClusterSpec&) const = default;

    std::uint32_t num_gpus() const { return num_nodes * node.gpus_per_node; }
    std::uint32_t num_ranks() const {
        return gpu_of_rank.empty() ? num_gpus() : static_cast<std::uint32_t>(gpu_of_rank.size());
    }
    std::uint32_t gpu_of(std::uint32_t rank) const {
        return gpu_of_rank.empty() ? rank : gpu_of_rank[rank];
    }
    std::uint32_t node_of(std::uint32_t rank) const { return gpu_of(rank) / node.gpus_per_node; }
    std::uint32_t server_of(std::uint32_t rank) const { return gpu_of(rank) / gpus_per_server(); }
    // Places the job's ranks on the first `count` GPUs, in order.
    void use_gpus(std::uint32_t count) {
        gpu_of_rank.clear();
        for (std::uint32_t gpu = 0; count != num_gpus() && gpu < count; ++gpu) {
            gpu_of_rank.push_back(gpu);
        }
    }
    // Servers are nodes, or the trays of nodes.
    std::uint32_t num_servers() const { return num_nodes * node.trays; }
    std::uint32_t gpus_per_server() const { return node.gpus_per_node / node.trays; }
    std::uint32_t nics_per_server() const { return fabric.nics_per_node / node.trays; }

    bool has_ethernet() const { return ethernet.nic_bandwidth > Bandwidth{}; }
    // Kinds are numbered from 0. A cluster of one kind has kind 0.
    std::uint32_t num_kinds() const {
        return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(kinds.size()));
    }
    std::uint32_t kind_of_node(std::uint32_t number) const {
        std::uint32_t kind = 0;
        while (kind + 1 < kinds.size() && number >= kinds[kind].num_nodes) {
            number -= kinds[kind++].num_nodes;
        }
        return kind;
    }
    std::uint32_t kind_of_rank(std::uint32_t rank) const { return kind_of_node(node_of(rank)); }
    // Also for a cluster of one kind.
    NodeKind kind(std::uint32_t number) const {
        NodeKind found =
            kinds.empty() ? NodeKind{.node = node, .num_nodes = num_nodes} : kinds[number];
        found.nics_per_node = found.nics_per_node == 0 ? fabric.nics_per_node : found.nics_per_node;
        if (found.nic_bandwidth == Bandwidth{}) {
            found.nic_bandwidth = fabric.nic_bandwidth;
        }
        return found;
    }
};

}  // namespace orrery
