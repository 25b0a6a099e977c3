// SPDX-License-Identifier: Apache-2.0
// The links of a channel's edges. An edge between nodes goes over GPU, PCIe, NIC, switches, NIC,
// PCIe, GPU, all on one rail; each of its queue pairs has its own path through the switches. Counts
// are per queue pair: a link that all queue pairs of an edge share has count `queue_pairs()`.
#pragma once

#include <cstdint>

#include "network/collectives/connections.h"
#include "network/collectives/group_layout.h"
#include "network/fabric/footprint.h"

namespace orrery {

class ChannelRouter {
public:
    // `purpose` distinguishes the flows of different communicators between the same GPUs.
    // Connections are opened in `connections` if it is given.
    ChannelRouter(const Fabric& fabric,
                  const GroupLayout& layout,
                  std::uint64_t purpose,
                  Connections* connections = nullptr);

    const Fabric& fabric() const { return fabric_; }
    const GroupLayout& layout() const { return layout_; }
    std::uint32_t queue_pairs() const { return queue_pairs_; }
    // True if channels of one rail take different paths, because routing hashes and there are
    // several paths. Otherwise one channel represents all.
    bool paths_differ() const { return paths_differ_; }
    bool channels_stay_apart() const {
        return connections_ != nullptr && connections_->around_dead_links();
    }

    // Between GPUs of one node of the group.
    void local_edge(RankId from, RankId to, FootprintBuilder& out) const;
    // From the NIC of rail r of node a to that of node b (positions in the layout), including the
    // PCIe links of `sender` and of the rail's member on b.
    void network_edge(RankId sender,
                      std::uint32_t a,
                      std::uint32_t b,
                      std::uint32_t r,
                      std::uint32_t channel,
                      FootprintBuilder& out) const;
    // The members of a node in the order of ring `cycle`, starting with the rail's member.
    std::vector<RankId> cycle(std::uint32_t node, std::uint32_t r, std::uint32_t cycle) const;

private:
    const Fabric& fabric_;
    const GroupLayout& layout_;
    std::uint64_t purpose_;
    Connections* connections_;
    std::uint32_t queue_pairs_;
    bool paths_differ_;
    mutable Path path_;  // scratch
};

// Reproducible, and different for every flow.
std::uint64_t flow_label(RankId from, RankId to, std::uint32_t channel, std::uint64_t purpose);

}  // namespace orrery
