// SPDX-License-Identifier: Apache-2.0
// Every distinct transfer of a program, planned once. A *connection* is one instance of a (group,
// communicator), or one directed pair of ranks on a communicator. All copies of a rank form one
// more connection with that rank as its only member. The *messages* of a connection are the
// distinct transfers on it, each with the phases and parts of the network's plan.
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
    std::uint32_t first_share = 0;  // index into Transfers::shares
    std::uint32_t num_shares = 0;
    Bytes bytes{};
    Bandwidth rate_max{};  // at most the share of its tightest link when it is alone
};

struct Phase {
    Time latency{};
    std::uint32_t first_part = 0;  // index into Transfers::parts
    std::uint32_t num_parts = 0;
};

struct ConnectionMessage {
    std::uint32_t first_phase = 0;  // index into Transfers::phases
    std::uint32_t num_phases = 0;
    std::uint32_t sms = 0;
    std::uint32_t uses = 0;    // per step
    bool uncontended = false;  // no other transfer can slow it down
    Time uncontended_time{};   // from the last arrival to the end, without other transfers
    // Streams of its ops (bits) on the first and on the last member.
    std::uint64_t first_streams = 0;
    std::uint64_t last_streams = 0;
};

struct Connection {
    ConnectionKind kind = ConnectionKind::group;
    std::uint16_t communicator = 0;
    GroupId group{};
    // Index into Transfers::members; of a pair: sender, receiver; of copies: the rank
    std::uint32_t first_member = 0;
    std::uint32_t num_members = 0;
    std::uint32_t first_message = 0;  // index into Transfers::messages
    std::uint32_t num_messages = 0;
};

struct Transfers {
    Table<ConnectionId, Connection> connections;
    std::vector<RankId> members;
    std::vector<ConnectionMessage> messages;
    std::vector<Phase> phases;
    std::vector<Part> parts;
    std::vector<LinkShare> shares;
    // Connection c of a rank's RoleTape is connection_of[first_connection[rank] + c].
    std::vector<std::uint32_t> first_connection;
    std::vector<ConnectionId> connection_of;
    // The effects of events in the step. `around`: by part that crosses failing links, its other
    // paths, one for each set of outages that switches route around (an empty path: there is none).
    // `watched`: by LinkId, the links that change or that another path uses; may be empty.
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
