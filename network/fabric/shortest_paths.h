// SPDX-License-Identifier: Apache-2.0
// Routing over a CableList: every switch knows which of its cables start a shortest path (in hops)
// to the receiver's switch, and chooses among them as network/fabric/routing.h says: a hash, the
// least loaded, or the receiver's number. Where a chosen path ends at dead links, the shortest
// paths over the links that are up are searched anew.
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
    // `first_link`: of the first NIC's cable; the links of all NICs come first, two a cable, from
    // the NIC and to it, then those of switches.
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
    // Different shortest paths, 0 from a NIC to itself.
    std::uint64_t num_paths(NicPort from, NicPort to) const;
    Time link_latency(std::uint32_t link) const;

private:
    struct Out {
        std::uint32_t link = 0;  // from first_link_ on
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
    std::vector<std::vector<Out>> in_;   // the same links by where they lead, `to` whence they come
    std::vector<Hops> hops_;             // by switch with NICs; empty for others
};

}  // namespace orrery
