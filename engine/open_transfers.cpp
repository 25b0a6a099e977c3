// SPDX-License-Identifier: Apache-2.0
#include "engine/open_transfers.h"

namespace orrery {

OpenTransfers::OpenTransfers(const ExecutionPlan& plan,
                             SimulationClock& clock,
                             std::uint32_t first_target)
    : plan_(plan), clock_(clock), first_target_(first_target) {
    for (const ChannelClass& channel : plan.quotient.channels) {
        channels.push_back({.first_message = plan.transfers.channels[channel.channel].first_message,
                            .num_members = channel.num_members,
                            .first_neighbour = channel.first_neighbour,
                            .num_neighbours = channel.num_neighbours,
                            .mostly_exclusive = channel.mostly_exclusive});
    }
    for (std::uint32_t c = 0; c < channels.size(); ++c) {
        channels[c].bundle = plan.bundles.of_channel[c];
        if (channels[c].bundle != kNoBundle) {
            const Bundle& bundle = plan.bundles.bundles[channels[c].bundle];
            channels[c].bundle_size = bundle.size;
            channels[c].bundle_first = plan.bundles.channels[bundle.first];
        }
    }
}

std::uint32_t OpenTransfers::find_or_add(std::uint32_t c,
                                         std::uint32_t sequence,
                                         std::uint32_t message) {
    for (std::uint32_t t = channels[c].open; t != kNoTransfer; t = pool[t].next) {
        if (pool[t].sequence == sequence) {
            return t;
        }
    }
    if (channels[c].bundle != kNoBundle) {
        ++channels[channels[c].bundle_first].num_apart;
    }
    return add(c, sequence, message);
}

std::uint32_t OpenTransfers::add(std::uint32_t c, std::uint32_t sequence, std::uint32_t message) {
    ChannelState& channel = channels[c];
    if (free.empty()) {
        free.push_back(static_cast<std::uint32_t>(pool.size()));
        pool.emplace_back();
    }
    const std::uint32_t t = free.back();
    free.pop_back();
    OpenTransfer& transfer = pool[t];
    transfer.arrival.end = Time::picoseconds(-1);
    transfer.channel = c;
    transfer.message = channel.first_message + message;
    transfer.sequence = sequence;
    transfer.missing = channel.num_members;
    transfer.phase = 0;
    transfer.pending = 0;
    transfer.in_latency = false;
    transfer.exclusive = false;
    transfer.scheduled = false;
    transfer.lost = false;
    transfer.bundle = false;
    transfer.participants.clear();
    transfer.next = channel.open;
    channel.open = t;
    return t;
}

void OpenTransfers::close(std::uint32_t t) {
    ChannelState& channel = channels[pool[t].channel];
    std::uint32_t* link = &channel.open;
    while (*link != t) {
        link = &pool[*link].next;
    }
    if (channel.bundle != kNoBundle && !pool[t].bundle) {
        --channels[channel.bundle_first].num_apart;
    }
    *link = pool[t].next;
    ++pool[t].generation;
    closed.push_back(t);
}

}  // namespace orrery
