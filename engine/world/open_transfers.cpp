// SPDX-License-Identifier: Apache-2.0
#include "engine/world/open_transfers.h"

namespace orrery {

OpenTransfers::OpenTransfers(const ExecutionPlan& plan,
                             SimulationClock& clock,
                             std::uint32_t first_target)
    : plan_(plan), clock_(clock), first_target_(first_target) {
    for (const ConnectionClass& connection : plan.quotient.connections) {
        connections.push_back(
            {.first_message = plan.transfers.connections[connection.connection].first_message,
             .num_members = connection.num_members,
             .first_neighbour = connection.first_neighbour,
             .num_neighbours = connection.num_neighbours,
             .mostly_exclusive = connection.mostly_exclusive});
    }
    for (std::size_t i = 0; i < connections.size(); ++i) {
        const auto c = to_id<ConnectionClassId>(i);
        connections[c].bundle = plan.bundles.of_connection[c];
        if (connections[c].bundle != kNoBundle) {
            const Bundle& bundle = plan.bundles.bundles[connections[c].bundle];
            connections[c].bundle_size = bundle.size;
            connections[c].bundle_first = plan.bundles.connections[bundle.first];
        }
    }
}

OpenTransferId OpenTransfers::find_or_add(ConnectionClassId c,
                                          std::uint32_t sequence,
                                          std::uint32_t message) {
    for (OpenTransferId t = connections[c].open; t != kNoTransfer; t = pool[t].next) {
        if (pool[t].sequence == sequence) {
            return t;
        }
    }
    if (connections[c].bundle != kNoBundle) {
        ++connections[connections[c].bundle_first].num_apart;
    }
    return add(c, sequence, message);
}

OpenTransferId OpenTransfers::add(ConnectionClassId c,
                                  std::uint32_t sequence,
                                  std::uint32_t message) {
    ConnectionState& connection = connections[c];
    if (free.empty()) {
        free.push_back(pool.next_id());
        pool.emplace_back();
    }
    const OpenTransferId t = free.back();
    free.pop_back();
    OpenTransfer& transfer = pool[t];
    transfer.arrival.end = Time::picoseconds(-1);
    transfer.connection = c;
    transfer.message = connection.first_message + message;
    transfer.sequence = sequence;
    transfer.missing = connection.num_members;
    transfer.phase = 0;
    transfer.pending = 0;
    transfer.in_latency = false;
    transfer.exclusive = false;
    transfer.lost = false;
    transfer.bundle = false;
    transfer.participants.clear();
    transfer.next = connection.open;
    connection.open = t;
    return t;
}

void OpenTransfers::close(OpenTransferId t) {
    ConnectionState& connection = connections[pool[t].connection];
    OpenTransferId* link = &connection.open;
    while (*link != t) {
        link = &pool[*link].next;
    }
    if (connection.bundle != kNoBundle && !pool[t].bundle) {
        --connections[connection.bundle_first].num_apart;
    }
    *link = pool[t].next;
    ++pool[t].generation;
    closed.push_back(t);
}

}  // namespace orrery
