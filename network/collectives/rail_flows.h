// SPDX-License-Identifier: Apache-2.0
// What a collective sends from NIC to NIC, as plain flows: what the packet model moves. Ring
// collectives and all_reduce by any algorithm are one ring over the nodes on every rail, the vector
// split over the rails (a tree's busiest NIC carries the same bytes); all_to_all
// sends from each node to each other one on the receiver's rail (PXN). All flows start at once: the
// steps of a ring overlap as soon as its pipeline is full.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program.h"
#include "network/collectives/group_layout.h"

namespace orrery {

struct NicFlow {
    NicPort from;
    NicPort to;
    Bytes bytes;
    std::uint64_t label = 0;  // of its connection
    bool operator==(const NicFlow&) const = default;
};

// Nothing for a group on one node.
std::vector<NicFlow> rail_flows(const GroupLayout& layout, CollectiveKind kind, Bytes bytes);

}  // namespace orrery
