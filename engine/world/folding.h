// SPDX-License-Identifier: Apache-2.0
// Folding: one rank or link represents all that behave identically. The classes are the coarsest
// equitable partition of ranks, links and connections, found by colour refinement. A rank starts
// with the colour (role, device), a link with its capacity. Colours split until three conditions
// hold. Ranks of a colour meet equal colours of connections. Connections of a colour join equal
// colours of ranks, and cross equal colours of links equally often. Links of a colour are crossed
// by equal colours of connections equally often. Then one member of a class computes the times of
// all members to the picosecond, because max-min sharing gives equal flows equal rates.
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

// Each rank, connection and link in a class of its own.
Partition trivial_partition(const SimulationInput& input, const Transfers& transfers);

// Classes are numbered in the order of their lowest members.
Partition coarsest_partition(const SimulationInput& input, const Transfers& transfers);

// The executor's classes. The representative of a class is its lowest member.
struct RankClass {
    RankId representative{};
    RoleId role{};
    std::uint16_t device = 0;
    std::uint32_t size = 0;
    std::uint32_t first_connection = 0;  // index into Quotient::connection_of
};

struct ConnectionClass {
    ConnectionId connection{};  // the representative
    // Index into Quotient::members: distinct rank classes; for a pair always both
    std::uint32_t first_member = 0;
    std::uint32_t num_members = 0;
    bool mostly_exclusive = false;      // engine/world/exclusive_connections.h
    std::uint32_t first_neighbour = 0;  // index into Quotient::neighbours
    std::uint32_t num_neighbours = 0;
};

// The footprint of a part that uses no link.
inline constexpr FootprintId kNoLinks{UINT32_MAX};

struct Quotient {
    Table<RankClassId, RankClass> ranks;
    Table<RankId, RankClassId> class_of_rank;
    Table<ConnectionClassId, ConnectionClass> connections;
    std::vector<RankClassId> members;
    // By connection class: the mostly exclusive connections that share a link with it.
    std::vector<ConnectionClassId> neighbours;
    // index: RankClass::first_connection + connection of the role tape
    std::vector<ConnectionClassId> connection_of;
    // By position in Transfers::parts; of representatives' parts only. Known to the solver.
    std::vector<FootprintId> footprints;
    // By the first part of a phase: the joined flow of all its parts; kNoLinks: each part is a flow
    // of its own.
    std::vector<FootprintId> joined;
    // By a part that meets an outage (engine/world/step_events.h): its footprints on the paths
    // around each set of avoided outages; kNoLinks: there is no path.
    std::map<std::uint32_t, std::vector<FootprintId>> around;
    std::int64_t distinct_footprints = 0;
};

// Registers the footprints with `rates`. Link class L is represented by its lowest link. For a part
// of connection class F that link carries the counts of all connections of F that cross it. If the
// program is not `alone`, two links with equal loads in this program stay separate, and no
// connection is exclusive.
Quotient make_quotient(const SimulationInput& input,
                       const Transfers& transfers,
                       const Partition& partition,
                       SharedRates& rates,
                       bool alone = true);

}  // namespace orrery
