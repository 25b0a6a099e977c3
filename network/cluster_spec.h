// SPDX-License-Identifier: Apache-2.0
// The cluster that a scenario describes: its servers (nodes) and the network between them. Filled by
// the scenario reader; network/fabric.h builds the graph.
#pragma once

#include <cstdint>
#include <string>

#include "engine/units.h"

namespace orrery {

enum class IntraNodeKind : std::uint8_t {
    nvswitch,  // every GPU reaches every other at its full NVLink bandwidth
    nvlink_mesh,  // point-to-point NVLinks, all-to-all connected
    pcie,      // through PCIe switches and the CPU
};

struct NodeSpec {
    std::string name;                   // "dgx-a100-80g"
    std::string device;                 // catalogue name of the GPU
    std::uint32_t gpus_per_node = 8;
    IntraNodeKind intra_node = IntraNodeKind::nvswitch;
    Bandwidth nvlink_bandwidth;         // per GPU and direction, raw
    bool nvls = false;                  // NVSwitch can reduce (sm90 and later)
    Bandwidth pcie_bandwidth;           // per GPU and direction, raw
    Time nvlink_latency;                // one hop
    Time pcie_latency;
    bool amd_cpu = false;               // NCCL's tuning differs between Intel and AMD hosts
};

enum class FabricKind : std::uint8_t { clos, rail, single_switch };
enum class RoutingKind : std::uint8_t { ecmp, spray, static_rail };

struct FabricSpec {
    std::string name;
    FabricKind kind = FabricKind::clos;
    std::uint32_t nics_per_node = 8;
    Bandwidth nic_bandwidth;            // line rate per direction
    Time nic_latency;                   // host + NIC, once per end
    Time link_latency;                  // one cable and one switch hop
    std::uint32_t tiers = 3;            // 2: leaf-spine, 3: ToR, aggregation, core
    std::uint32_t nodes_per_leaf_set = 32;  // servers that share one set of ToR switches
    // True: NIC i of a node goes to ToR i of its set (multi-rail); false: all NICs to one ToR.
    bool multi_rail = true;
    Bandwidth uplink_bandwidth;         // of one ToR uplink (a split port: twice the NIC's)
    double oversubscription = 1.0;      // ToR downlink bandwidth / uplink bandwidth
    std::uint32_t leaf_sets_per_pod = 8;    // three tiers: ToR sets under one set of aggregation
    double spine_oversubscription = 1.0;    // aggregation downlink / uplink bandwidth
    RoutingKind routing = RoutingKind::ecmp;
    std::uint32_t qps_per_connection = 1;   // queue pairs (5-tuples) a connection is split over
    std::uint64_t hash_seed = 0;
};

struct ClusterSpec {
    std::uint32_t num_nodes = 1;
    NodeSpec node;
    FabricSpec fabric;
    std::uint32_t num_gpus() const { return num_nodes * node.gpus_per_node; }
};

}  // namespace orrery
