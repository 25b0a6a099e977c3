// SPDX-License-Identifier: Apache-2.0
// The transfers at which a member has arrived and that have not ended, by connection class.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/critical_path.h"
#include "engine/program/participants.h"
#include "engine/world/execution_plan.h"
#include "engine/world/simulation_clock.h"

namespace orrery {

inline constexpr OpenTransferId kNoTransfer{UINT32_MAX};
inline constexpr LockstepGroupId kNoGroup{UINT32_MAX};

// One connection class, and its transfers in flight.
struct alignas(64) ConnectionState {
    std::uint32_t first_message = 0;  // Transfers::messages
    std::uint32_t num_members = 0;
    LockstepGroupId group = kNoGroup;  // the lockstep group that meets on it, be it of one
    OpenTransferId open = kNoTransfer;
    std::uint32_t first_neighbour = 0;  // Quotient::neighbours
    std::uint32_t num_neighbours = 0;
    // A mostly exclusive connection knows which transfer is exclusive, or how many flows share its
    // links.
    OpenTransferId exclusive = kNoTransfer;
    std::int32_t num_flows = 0;
    bool mostly_exclusive = false;
    std::uint32_t bundle = kNoBundle;  // Bundles::bundles
    std::uint32_t bundle_size = 0;
    ConnectionClassId bundle_first{UINT32_MAX};  // its first connection
    // Transfers that are open on the other connections of the bundle whose first connection this
    // is.
    std::uint32_t num_apart = 0;
};

struct alignas(64) OpenTransfer {
    ConnectionClassId connection{};
    std::uint32_t message = 0;   // position in Transfers::messages
    std::uint32_t sequence = 0;  // of the connection, over all steps
    std::uint32_t missing = 0;   // members that have not arrived
    std::uint32_t generation = 0;
    OpenTransferId next = kNoTransfer;  // open on the same connection
    std::uint32_t pending = 0;          // parts of the phase under way
    std::uint32_t phase : 28 = 0;
    bool in_latency : 1 = false;
    bool exclusive : 1 = false;  // no flow, and ends when it would alone
    bool lost : 1 = false;       // it never ends
    // It stands for those of all connections of the bundle (engine/world/bundles.h).
    bool bundle : 1 = false;
    // Streams, as positions in RankStates::streams. Of a bundle one for each group that has joined.
    Participants participants;
    LatestPath arrival;

    // Data move from the last member's arrival on.
    Time data_start() const { return arrival.end; }
};
static_assert(sizeof(OpenTransfer) == 192);  // a line for itself, two for the path

class OpenTransfers {
public:
    // Events of transfers have targets from `first_target` on.
    OpenTransfers(const ExecutionPlan& plan, SimulationClock& clock, std::uint32_t first_target);

    // `message` counts from the connection's first.
    OpenTransferId find_or_add(ConnectionClassId c, std::uint32_t sequence, std::uint32_t message);
    OpenTransferId add(ConnectionClassId c, std::uint32_t sequence, std::uint32_t message);
    void close(OpenTransferId t);
    // The numbers of transfers that closed at this instant may be used again. During the instant,
    // ends of a group's members still name them.
    void end_instant() {
        free.insert(free.end(), closed.begin(), closed.end());
        closed.clear();
    }
    // The transfer's next event. One that it had before counts no more if its generation is past.
    void expect_event(OpenTransferId t, Time due) {
        clock_.queue.schedule(
            due, first_target_ + static_cast<std::uint32_t>(t), pool[t].generation);
    }

    const ConnectionMessage& message_of(OpenTransferId t) const {
        return plan_.transfers.messages[pool[t].message];
    }
    // The connections that are mostly exclusive and share links with a connection.
    std::span<const ConnectionClassId> neighbours_of(ConnectionClassId c) const {
        return {plan_.quotient.neighbours.data() + connections[c].first_neighbour,
                connections[c].num_neighbours};
    }

    Table<ConnectionClassId, ConnectionState> connections;
    Table<OpenTransferId, OpenTransfer> pool;
    std::vector<OpenTransferId> free;    // positions in the pool
    std::vector<OpenTransferId> closed;  // at this instant: not free yet

private:
    const ExecutionPlan& plan_;
    SimulationClock& clock_;
    std::uint32_t first_target_;
};

}  // namespace orrery
