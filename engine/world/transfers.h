// SPDX-License-Identifier: Apache-2.0
// Every distinct transfer of a program, planned once. A *connection* is what ranks communicate on:
// one instance of a (group, communicator), or one directed pair of ranks on a communicator. All
// copies of a rank make up one more connection, of that rank alone.
// Its *messages* are the distinct transfers that its members make on it, each with the phases and
// parts that the network planned.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/program/execution_ids.h"
#include "engine/program/network_model.h"
#include "engine/program/program.h"
#include "engine/program/role_tape.h"
#include "engine/world/step_events.h"

namespace orrery {

struct Part {
    std::uint32_t first_share = 0;  // Transfers::shares
    std::uint32_t num_shares = 0;
    Bytes bytes{};
    Bandwidth rate_max{};  // at most what its emptiest link gives it when it is alone
};

struct Phase {
    Time latency{};
    std::uint32_t first_part = 0;  // Transfers::parts
    std::uint32_t num_parts = 0;
};

struct ConnectionMessage {
    std::uint32_t first_phase = 0;  // Transfers::phases
    std::uint32_t num_phases = 0;
    std::uint32_t sms = 0;
    std::uint32_t uses = 0;  // in a step
    bool uncontended = false;  // nothing else can slow it down
    Time uncontended_time{};   // from the last arrival to the end if nothing else moves
    // Streams of its ops on the first and on the last member.
    std::uint64_t first_streams = 0;
    std::uint64_t last_streams = 0;
};

struct Connection {
    ConnectionKind kind = ConnectionKind::group;
    std::uint16_t communicator = 0;
    GroupId group{};
    std::uint32_t first_member = 0;  // Transfers::members; of a pair: from, to; of copies: the rank
    std::uint32_t num_members = 0;
    std::uint32_t first_message = 0;  // Transfers::messages
    std::uint32_t num_messages = 0;
};

struct Transfers {
    Table<ConnectionId, Connection> connections;
    std::vector<RankId> members;
    std::vector<ConnectionMessage> messages;
    std::vector<Phase> phases;
    std::vector<Part> parts;
    std::vector<LinkShare> shares;
    // The connection behind RoleTape::connections[c] of a rank:
    // connection_of[first_connection[rank] + c].
    std::vector<std::uint32_t> first_connection;
    std::vector<ConnectionId> connection_of;
    // What events in the step change: parts that cross links that go out of order, and their other
    // paths, one for each set of outages that switches go around (none: empty); links that change,
    // or that another path leads over, by LinkId (or empty).
    struct Around {
        OutageWays ways;
        std::vector<std::vector<LinkShare>> shares;  // by position in ways.around
    };
    std::map<std::uint32_t, Around> around;
    std::vector<bool> watched;
    bool watches(LinkId link) const { return index(link) < watched.size() && watched[index(link)]; }

    std::span<const RankId> members_of(const Connection& connection) const {
        return {members.data() + connection.first_member, connection.num_members};
    }
    std::span<const LinkShare> shares_of(const Part& part) const {
        return {shares.data() + part.first_share, part.num_shares};
    }
};

// The program must have passed verify().
Transfers plan_transfers(const Program& program,
                         const Tapes& tapes,
                         const NetworkModel& network,
                         const StepEvents& events = {},
                         const StepLoad* load = nullptr);

}  // namespace orrery
