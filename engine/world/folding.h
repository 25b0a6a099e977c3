// SPDX-License-Identifier: Apache-2.0
// Folding: ranks and links that behave identically stand for each other. The classes are the
// coarsest equitable partition of ranks, links and connections, found by colour refinement. A rank
// starts with (role, device), a link with its capacity. A colour splits until ranks of a colour
// meet equal colours of connections, connections join equal colours of ranks and cross equal
// colours of links equally often, and links are crossed by equal colours of connections equally
// often. Then one rank, link and connection of a class computes what all of them would, to the
// picosecond: in max-min sharing equals stay equal.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/program/execution_ids.h"
#include "engine/world/simulation.h"
#include "engine/world/transfers.h"

namespace orrery {

struct Partition {
    std::vector<std::uint32_t> class_of_rank;
    std::vector<std::uint32_t> class_of_connection;
    std::vector<std::uint32_t> class_of_link;
    std::uint32_t rank_classes = 0;
    std::uint32_t connection_classes = 0;
    std::uint32_t link_classes = 0;
};

// Everyone on their own.
Partition trivial_partition(const SimulationInput& input, const Transfers& transfers);

// Classes are numbered by their lowest member.
Partition coarsest_partition(const SimulationInput& input, const Transfers& transfers);

// What the executor runs on: one representative (the lowest) of each class.
struct RankClass {
    RankId representative{};
    RoleId role{};
    std::uint16_t device = 0;
    std::uint32_t size = 0;
    std::uint32_t first_connection = 0;  // Quotient::connection_of
};

struct ConnectionClass {
    ConnectionId connection{};       // the representative
    std::uint32_t first_member = 0;  // Quotient::members: distinct rank classes; of a pair both
    std::uint32_t num_members = 0;
    bool mostly_exclusive = false;      // engine/world/exclusive_connections.h
    std::uint32_t first_neighbour = 0;  // Quotient::neighbours
    std::uint32_t num_neighbours = 0;
};

// The footprint of a part that crosses no link.
inline constexpr FootprintId kNoLinks{UINT32_MAX};

struct Quotient {
    Table<RankClassId, RankClass> ranks;
    Table<RankId, RankClassId> class_of_rank;
    Table<ConnectionClassId, ConnectionClass> connections;
    std::vector<RankClassId> members;
    // By connection class: the connections that are mostly exclusive and share a link with it.
    std::vector<ConnectionClassId> neighbours;
    // [RankClass::first_connection + connection of the role tape]
    std::vector<ConnectionClassId> connection_of;
    // By position in Transfers::parts; of representatives' parts only. Known to the solver.
    std::vector<FootprintId> footprints;
    // By the first part of a phase: all of its parts as one flow; kNoLinks: each is one.
    std::vector<FootprintId> joined;
    // The same around outages (engine/world/step_events.h), for phases that meet an outage and each
    // set of outages that switches go around; kNoLinks: no way.
    std::map<std::uint32_t, std::vector<FootprintId>> around;
    std::int64_t distinct_footprints = 0;
};

// Tells `rates` the footprints: link class L stands for its lowest link, and carries, for a part of
// connection class F, the counts of all of F's connections that cross that link. If the program is
// not `alone`, a link that always carries what another one does may still bind by itself, and no
// transfer has its links to itself.
Quotient make_quotient(const SimulationInput& input,
                       const Transfers& transfers,
                       const Partition& partition,
                       SharedRates& rates,
                       bool alone = true);

}  // namespace orrery
