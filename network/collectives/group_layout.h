// SPDX-License-Identifier: Apache-2.0
// The nodes, GPUs and NICs of a communicator's members. Nodes are in the order of their numbers, as
// in NCCL's rings and trees. The r-th NIC of every node is rail r. A communicator has one network
// plugin (NCCL 2.28, src/init.cc, ncclNetInit): if two of its nodes reach each other only over TCP,
// all its nodes use their Ethernet adapters, as one rail.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "network/fabric/fabric.h"
#include "network/nccl/nccl_graph.h"

namespace orrery {

// A NIC and the member next to it.
struct GroupRail {
    std::uint32_t gpu = 0;  // position in GroupNode::gpus
    NicPort nic;
};

struct GroupNode {
    std::uint32_t node = 0;
    std::vector<RankId> gpus;  // in the order of their positions in the node
    std::vector<GroupRail> rails;
};

class GroupLayout {
public:
    GroupLayout(const Fabric& fabric, std::span<const RankId> members);

    std::span<const GroupNode> nodes() const { return nodes_; }
    std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(nodes_.size()); }
    std::uint32_t num_ranks() const { return num_ranks_; }
    // The number of NICs that every node has for this group, at least one.
    std::uint32_t num_rails() const { return num_rails_; }
    const GroupRail& rail(std::uint32_t node, std::uint32_t r) const {
        return nodes_[node].rails[r];
    }
    RankId rail_rank(std::uint32_t node, std::uint32_t r) const {
        return nodes_[node].gpus[rail(node, r).gpu];
    }
    NcclGroupShape shape() const;
    bool over_tcp() const { return over_tcp_; }

private:
    std::vector<GroupNode> nodes_;
    bool over_tcp_ = false;
    std::uint32_t kinds_ = 0;
    std::uint32_t num_ranks_ = 0;
    std::uint32_t num_rails_ = 1;
};

// The order in which ring `cycle` of a node with a mesh visits `gpus` GPUs. No two rings use a link
// in the same direction: seven rings of eight GPUs, or Walecki's cycles of the complete graph in
// both directions (num_mesh_rings()).
std::vector<std::uint32_t> mesh_cycle(std::uint32_t gpus, std::uint32_t cycle);

}  // namespace orrery
