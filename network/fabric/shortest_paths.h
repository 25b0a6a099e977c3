// SPDX-License-Identifier: Apache-2.0
// Routing over a CableList. Every switch knows its cables that start a shortest path (in hops) to
// the receiver's switch, and chooses among them as in network/fabric/routing.h: by a hash, the
// least load, or the receiver's number. If a chosen path ends at failed links, the shortest paths
// over the links that are up are searched again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "network/fabric/cable_list.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/path.h"
#include "network/fluid/link_state.h"

namespace orrery {

class ShortestPaths {
public:
    // `first_link` is the link of the first NIC's cable. The links of all NICs come first, two per
    // cable (from the NIC, then to it), followed by those of switches.
    ShortestPaths(std::shared_ptr<const CableList> cables,
                  const FabricSpec& fabric,
                  std::uint32_t first_link);

    // As Router::route().
    bool route(NicPort from,
               NicPort to,
               std::uint64_t flow_label,
               std::uint32_t queue_pair,
               Path& path,
               const LinkState& state) const;
    // The number of different shortest paths; 0 from a NIC to itself.
    std::uint64_t num_paths(NicPort from, NicPort to) const;
    Time link_latency(std::uint32_t link) const;

private:
    struct Out {
        std::uint32_t link = 0;  // relative to first_link_
        std::uint32_t to = 0;
    };
    using Hops = std::vector<std::uint16_t>;  // by switch
    struct Choice;
    std::uint32_t nic_of(NicPort port) const { return port.node * nics_per_node_ + port.nic; }
    Hops hops_to(std::uint32_t target, const LinkState& state) const;
    bool walk(const Choice& choice,
              std::uint32_t from,
              std::uint32_t to,
              const Hops& hops,
              const LinkState& state,
              Path& path) const;
    bool is_up(std::uint32_t link, const LinkState& state) const {
        return state.is_up(first_link_ + link);
    }

    std::shared_ptr<const CableList> cables_;
    std::uint32_t nics_per_node_;
    RoutingKind kind_;
    std::uint64_t hash_seed_;
    bool one_seed_;
    Time nic_latency_;
    std::uint32_t first_link_;
    std::vector<std::vector<Out>> out_;  // by switch, ascending links
    std::vector<std::vector<Out>> in_;   // the same links by their ends; `to` is then their begin
    std::vector<Hops> hops_;             // by switch with NICs; empty for other switches
};

}  // namespace orrery
