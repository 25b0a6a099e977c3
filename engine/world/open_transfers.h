// SPDX-License-Identifier: Apache-2.0
// Open transfers by connection class: at least one member has arrived, and the transfer has not
// ended.
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
    std::uint32_t first_message = 0;  // index into Transfers::messages
    std::uint32_t num_members = 0;
    // The lockstep group that meets on it, possibly a group of one
    LockstepGroupId group = kNoGroup;
    OpenTransferId open = kNoTransfer;
    std::uint32_t first_neighbour = 0;  // index into Quotient::neighbours
    std::uint32_t num_neighbours = 0;
    // Of a mostly exclusive connection: its exclusive transfer, or the number of flows on its
    // links.
    OpenTransferId exclusive = kNoTransfer;
    std::int32_t num_flows = 0;
    bool mostly_exclusive = false;
    std::uint32_t bundle = kNoBundle;  // index into Bundles::bundles
    std::uint32_t bundle_size = 0;
    ConnectionClassId bundle_first{UINT32_MAX};  // the bundle's first connection
    // If this is the first connection of a bundle: the number of open transfers on its other
    // connections.
    std::uint32_t num_apart = 0;
};

struct alignas(64) OpenTransfer {
    ConnectionClassId connection{};
    std::uint32_t message = 0;   // index into Transfers::messages
    std::uint32_t sequence = 0;  // among the connection's uses, over all steps
    std::uint32_t missing = 0;   // members that have not arrived
    std::uint32_t generation = 0;
    OpenTransferId next = kNoTransfer;  // the next open transfer on the same connection
    std::uint32_t pending = 0;          // parts of the phase in flight
    std::uint32_t phase : 28 = 0;
    bool in_latency : 1 = false;
    bool exclusive : 1 = false;  // not a flow: it ends after its uncontended time
    bool lost : 1 = false;       // it never ends
    // It represents the transfers on all connections of the bundle (engine/world/bundles.h).
    bool bundle : 1 = false;
    // Streams that have arrived, by position in RankStates::streams. A bundle's transfer has one
    // for each group.
    Participants participants;
    LatestPath arrival;

    // Data move once the last member has arrived.
    Time data_start() const { return arrival.end; }
};
static_assert(sizeof(OpenTransfer) == 192);  // one cache line for the members, two for the path

class OpenTransfers {
public:
    // Events of transfers have targets from `first_target` on.
    OpenTransfers(const ExecutionPlan& plan, SimulationClock& clock, std::uint32_t first_target);

    // `message` is relative to the connection's first message.
    OpenTransferId find_or_add(ConnectionClassId c, std::uint32_t sequence, std::uint32_t message);
    OpenTransferId add(ConnectionClassId c, std::uint32_t sequence, std::uint32_t message);
    void close(OpenTransferId t);
    // Releases the numbers of transfers that closed at this instant. Until the end of the instant,
    // ends of a group's members still refer to them.
    void end_instant() {
        free.insert(free.end(), closed.begin(), closed.end());
        closed.clear();
    }
    // Schedules the transfer's next event. An earlier event is void only if its generation has
    // passed.
    void expect_event(OpenTransferId t, Time due) {
        clock_.queue.schedule(
            due, first_target_ + static_cast<std::uint32_t>(t), pool[t].generation);
    }

    const ConnectionMessage& message_of(OpenTransferId t) const {
        return plan_.transfers.messages[pool[t].message];
    }
    // The mostly exclusive connections that share links with a connection.
    std::span<const ConnectionClassId> neighbours_of(ConnectionClassId c) const {
        return {plan_.quotient.neighbours.data() + connections[c].first_neighbour,
                connections[c].num_neighbours};
    }

    Table<ConnectionClassId, ConnectionState> connections;
    Table<OpenTransferId, OpenTransfer> pool;
    std::vector<OpenTransferId> free;    // positions in the pool
    std::vector<OpenTransferId> closed;  // closed at this instant; not yet free

private:
    const ExecutionPlan& plan_;
    SimulationClock& clock_;
    std::uint32_t first_target_;
};

}  // namespace orrery
