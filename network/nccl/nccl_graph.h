// SPDX-License-Identifier: Apache-2.0
// What NCCL's topology search finds on a node: how many channels, at which bandwidth. The search
// (NCCL 2.28.9, src/graph/search.cc and connect.cc) is reduced to what a NodeSpec says: GPUs of
// equal NVLink or PCIe bandwidth, each node's share of NICs. Speeds are tried from a fixed list;
// the most bandwidth wins, the fastest channels among equals. Each node searches on its own; of
// what nodes of several kinds find, the least counts. Not modelled: user limits on channels, other
// graphs than ring, tree, NVLS and PAT.
#pragma once

#include <cstdint>

#include "network/fabric/cluster_spec.h"
#include "network/nccl/nccl_tuning.h"

namespace orrery {

// The part of the cluster that one communicator uses.
struct NcclGroupShape {
    std::uint32_t num_nodes = 1;
    std::uint32_t num_ranks = 1;
    std::uint32_t gpus_per_node = 1;  // members on the node that has fewest
    std::uint32_t nics_per_node = 1;  // distinct NICs that belong to those members
    std::uint32_t kinds = 1;          // bit k: a node of kind k is in it
    bool tcp = false;                 // over sockets, by one adapter a node
    auto operator<=>(const NcclGroupShape&) const = default;
};

// Graphs, channel counts and what else the tuning asks for.
NcclCommunicator search_nccl_graphs(const NodeSpec& node,
                                    const FabricSpec& fabric,
                                    std::uint32_t compute_capability,
                                    const NcclGroupShape& shape);

// What nodes that found different graphs agree on: the fewest channels, the least bandwidths and
// capability, the farthest paths (NCCL 2.28, src/init.cc, initTransportsRank, after its third
// all-gather). LL128 runs only where all have one compute capability (src/graph/tuning.cc).
NcclCommunicator common_graphs(const NcclCommunicator& a, const NcclCommunicator& b);

// GB/s that NCCL assumes for all NVLinks (or the PCIe link) of one GPU and direction.
double nccl_intra_bandwidth(const NodeSpec& node, std::uint32_t compute_capability);

// Edge-disjoint directed rings through `gpus` GPUs that are all connected to each other.
std::uint32_t num_mesh_rings(std::uint32_t gpus);

}  // namespace orrery
