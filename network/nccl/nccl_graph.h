// SPDX-License-Identifier: Apache-2.0
// The result of NCCL's topology search on a node: the number of channels and their bandwidth. The
// search (NCCL 2.28.9, src/graph/search.cc and connect.cc) is reduced to the data of a NodeSpec:
// GPUs of equal NVLink or PCIe bandwidth, and each node's share of NICs. Speeds are tried from a
// fixed list. The most bandwidth wins; on ties the fastest channels. Each node searches by itself;
// with several kinds of nodes the least result counts. Not modelled: user limits on channels, and
// graphs other than ring, tree, NVLS and PAT.
#pragma once

#include <cstdint>

#include "network/fabric/cluster_spec.h"
#include "network/nccl/nccl_tuning.h"

namespace orrery {

// The part of the cluster that one communicator uses.
struct NcclGroupShape {
    std::uint32_t num_nodes = 1;
    std::uint32_t num_ranks = 1;
    std::uint32_t gpus_per_node = 1;  // members on the node with the fewest
    std::uint32_t nics_per_node = 1;  // distinct NICs of the members on that node
    std::uint32_t kinds = 1;          // bit k: it has a node of kind k
    bool tcp = false;                 // over sockets, with one adapter per node
    auto operator<=>(const NcclGroupShape&) const = default;
};

// The graphs, numbers of channels and other inputs of the tuning.
NcclCommunicator search_nccl_graphs(const NodeSpec& node,
                                    const FabricSpec& fabric,
                                    std::uint32_t compute_capability,
                                    const NcclGroupShape& shape);

// The common result of nodes with different graphs: the fewest channels, the least bandwidths and
// capability, the farthest paths (NCCL 2.28, src/init.cc, initTransportsRank, after its third
// all-gather). LL128 is used only if all have one compute capability (src/graph/tuning.cc).
NcclCommunicator common_graphs(const NcclCommunicator& a, const NcclCommunicator& b);

// GB/s that NCCL assumes for all NVLinks (or the PCIe link) of a GPU, per direction.
double nccl_intra_bandwidth(const NodeSpec& node, std::uint32_t compute_capability);

// The number of edge-disjoint directed rings through `gpus` GPUs that are all connected to each
// other.
std::uint32_t num_mesh_rings(std::uint32_t gpus);

}  // namespace orrery
