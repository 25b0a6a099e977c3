// SPDX-License-Identifier: Apache-2.0
#include "engine/world/exclusive_transfers.h"

#include "engine/world/execution.h"

namespace orrery {

bool ExclusiveTransfers::begin(OpenTransferId t, Time now) {
    const ConnectionClassId own = open_.pool[t].connection;
    if (open_.connections[own].num_neighbours == 0) {
        return false;
    }
    for (const ConnectionClassId c : open_.neighbours_of(own)) {
        parts_.clocks.end_on(c, now);
    }
    OpenTransfer& transfer = open_.pool[t];
    ConnectionState& connection = open_.connections[own];
    bool alone = connection.mostly_exclusive && connection.num_flows == 0;
    for (const ConnectionClassId c : open_.neighbours_of(transfer.connection)) {
        if (open_.connections[c].exclusive != kNoTransfer) {
            become_flow(open_.connections[c].exclusive, now);
            alone = false;
        }
    }
    if (!alone) {
        count_flow(transfer.connection, 1);
        return false;
    }
    connection.exclusive = t;
    transfer.exclusive = true;
    open_.expect_event(t, now + open_.message_of(t).uncontended_time);
    return true;
}

// Another transfer starts on a link of this exclusive one.
void ExclusiveTransfers::become_flow(OpenTransferId t, Time now) {
    OpenTransfer& transfer = open_.pool[t];
    const ConnectionMessage& message = open_.message_of(t);
    open_.connections[transfer.connection].exclusive = kNoTransfer;
    if (now == transfer.data_start() + message.uncontended_time) {
        return;  // it ends at this instant; the end is handled later
    }
    transfer.exclusive = false;
    ++transfer.generation;
    count_flow(transfer.connection, 1);
    const Phase& phase = plan_.transfers.phases[message.first_phase];
    const Time flows_since = transfer.data_start() + phase.latency;
    if (now <= flows_since) {
        transfer.in_latency = true;
        open_.expect_event(t, flows_since);
        return;
    }
    const Part& part = plan_.transfers.parts[phase.first_part];
    ++transfer.pending;
    parts_.transfers.own_flow(
        t,
        phase.first_part,
        clock_.rates.start_under_way(now,
                                     plan_.quotient.footprints[phase.first_part],
                                     part.bytes,
                                     part.rate_max,
                                     flows_since));
}

void ExclusiveTransfers::end(OpenTransferId t) {
    const OpenTransfer& transfer = open_.pool[t];
    ConnectionState& connection = open_.connections[transfer.connection];
    if (!transfer.exclusive) {
        count_flow(transfer.connection, -1);
    } else if (connection.exclusive == t) {
        connection.exclusive = kNoTransfer;
    }
}

// A flow on `connection` begins (1) or ends (-1).
void ExclusiveTransfers::count_flow(ConnectionClassId connection, std::int32_t change) {
    for (const ConnectionClassId c : open_.neighbours_of(connection)) {
        open_.connections[c].num_flows += change;
        if (open_.connections[c].num_flows == 0 && open_.connections[c].group != kNoGroup) {
            parts_.lockstep.consider_reunion(open_.connections[c].group);
        }
    }
}

}  // namespace orrery
