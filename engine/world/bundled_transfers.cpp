// SPDX-License-Identifier: Apache-2.0
#include "engine/world/bundled_transfers.h"

#include "engine/world/execution.h"

namespace orrery {

bool BundledTransfers::join(const ConnectionState& connection,
                            RankStreamId id,
                            const TapePart& part,
                            Time now) {
    const RankClassId r = state_.rank_of(id);
    const ConnectionClassId first = connection.bundle_first;
    const std::uint32_t sequence = state_.sequence_of(id, part);
    OpenTransferId t = open_.connections[first].open;
    while (t != kNoTransfer && !(open_.pool[t].bundle && open_.pool[t].sequence == sequence)) {
        t = open_.pool[t].next;
    }
    if (state_.ranks[r].width < connection.bundle_size) {
        if (t != kNoTransfer) {
            split(t);
        }
        return false;
    }
    if (t == kNoTransfer) {
        if (open_.connections[first].num_apart > 0 &&
            any_apart(plan_.bundles.bundles[connection.bundle], sequence)) {
            return false;
        }
        t = open_.add(first, sequence, part.message);
        open_.pool[t].bundle = true;
    }
    OpenTransfer& transfer = open_.pool[t];
    transfer.arrival.offer(now, state_.streams[id].path);
    transfer.participants.push_back(id);
    if (--transfer.missing == 0) {
        parts_.transfers.begin(t, now);
    }
    return true;
}

// Whether a member of the other group has joined a transfer of its own.
bool BundledTransfers::any_apart(const Bundle& bundle, std::uint32_t sequence) const {
    for (const ConnectionClassId c : plan_.bundles.connections_of(bundle)) {
        for (OpenTransferId t = open_.connections[c].open; t != kNoTransfer;
             t = open_.pool[t].next) {
            if (open_.pool[t].sequence == sequence) {
                return true;
            }
        }
    }
    return false;
}

// Replaces the common transfer by one transfer on each connection of the bundle: `apart_`.
void BundledTransfers::split(OpenTransferId whole) {
    const ConnectionState& first = open_.connections[open_.pool[whole].connection];
    const std::uint32_t message = open_.pool[whole].message - first.first_message;
    const Bundle& bundle = plan_.bundles.bundles[first.bundle];
    open_.close(whole);
    apart_.clear();
    for (std::uint32_t place = 0; place < bundle.size; ++place) {
        const ConnectionClassId c = plan_.bundles.connections[bundle.first + place];
        const OpenTransferId t = open_.find_or_add(c, open_.pool[whole].sequence, message);
        const OpenTransfer& from = open_.pool[whole];
        OpenTransfer& transfer = open_.pool[t];
        transfer.missing = from.missing;
        transfer.phase = from.phase;
        transfer.pending = from.pending;
        transfer.in_latency = from.in_latency;
        transfer.arrival = from.arrival;
        for (const RankStreamId id : from.participants) {
            const LockstepGroup& group =
                plan_.groups.groups[plan_.groups.group_of[state_.member_of(id)]];
            transfer.participants.push_back(
                state_.stream_of(plan_.groups.members_of(group)[place], state_.streams[id].stream));
        }
        apart_.push_back(t);
    }
}

void BundledTransfers::split_parted() {
    std::size_t next = 0;  // index into apart_
    for (const PartedFlow& parted : clock_.rates.parted()) {
        if (next == 0) {
            split(parts_.transfers.owner_of(parted.whole));
        }
        parts_.transfers.set_owner(parted.flow, apart_[next]);
        next = (next + 1) % apart_.size();
    }
}

void BundledTransfers::split_all() {
    for (const Bundle& bundle : plan_.bundles.bundles) {
        OpenTransferId t = open_.connections[plan_.bundles.connections[bundle.first]].open;
        while (t != kNoTransfer) {
            const OpenTransferId next = open_.pool[t].next;
            if (open_.pool[t].bundle) {
                split(t);
            }
            t = next;
        }
    }
}

void BundledTransfers::end(OpenTransferId t, Time now) {
    const std::uint32_t size = open_.connections[open_.pool[t].connection].bundle_size;
    for (const RankStreamId id : open_.pool[t].participants) {
        if (state_.ranks[state_.leader[state_.member_of(id)]].width == size) {
            parts_.transfers.end_part(state_.leading(id), open_.pool[t], now);
            continue;
        }
        const LockstepGroup& group =
            plan_.groups.groups[plan_.groups.group_of[state_.member_of(id)]];
        for (const RankClassId m : plan_.groups.members_of(group)) {
            parts_.transfers.end_part_of_member(
                state_.stream_of(m, state_.streams[id].stream), t, now);
        }
    }
}

}  // namespace orrery
