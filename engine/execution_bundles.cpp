// SPDX-License-Identifier: Apache-2.0
// The part of Execution (engine/execution.h) that keeps one transfer and one flow for a bundle
// (engine/bundles.h). It lies on the bundle's first channel. It stands for one transfer on each
// channel as long as whole teams join it and all of them move alike. If not, those take its place.
// A team may part meanwhile: then its members end for themselves what they began together.
#include "engine/execution.h"

namespace orrery {

void Execution::set_up_bundles() {
    for (std::uint32_t c = 0; c < channels_.size(); ++c) {
        channels_[c].bundle = bundles_.of_channel[c];
        if (channels_[c].bundle != kNoBundle) {
            const Bundle& bundle = bundles_.bundles[channels_[c].bundle];
            channels_[c].bundle_size = bundle.size;
            channels_[c].bundle_first = bundles_.channels[bundle.first];
        }
    }
}

// False if each rank that this one leads joins a transfer of its own.
bool Execution::join_bundle(std::uint32_t id, const TapePart& part, Time now) {
    const std::uint32_t r = rank_of(id);
    const ChannelState& channel =
        channels_[quotient_.channel_of[streams_[id].first_channel + part.channel]];
    if (channel.bundle == kNoBundle) {
        return false;
    }
    const std::uint32_t first = channel.bundle_first;
    const std::uint32_t sequence = sequence_of(r, part);
    std::uint32_t t = channels_[first].open;
    while (t != kNoTransfer && !(pool_[t].bundle && pool_[t].sequence == sequence)) {
        t = pool_[t].next;
    }
    if (ranks_[r].width < channel.bundle_size) {
        if (t != kNoTransfer) {
            take_apart(t);
        }
        return false;
    }
    if (t == kNoTransfer) {
        if (channels_[first].num_apart > 0 &&
            any_apart(bundles_.bundles[channel.bundle], sequence)) {
            return false;
        }
        t = new_transfer(first, sequence, part.message);
        pool_[t].bundle = true;
    }
    OpenTransfer& transfer = pool_[t];
    transfer.arrival.offer(now, streams_[id].path);
    transfer.participants.push_back(id);
    if (--transfer.missing == 0) {
        begin_transfer(t, now);
    }
    return true;
}

// Has somebody of the other team joined on their own?
bool Execution::any_apart(const Bundle& bundle, std::uint32_t sequence) const {
    for (const std::uint32_t c : bundles_.channels_of(bundle)) {
        for (std::uint32_t t = channels_[c].open; t != kNoTransfer; t = pool_[t].next) {
            if (pool_[t].sequence == sequence) {
                return true;
            }
        }
    }
    return false;
}

// Transfers on all channels, `apart_`, take the place of one.
void Execution::take_apart(std::uint32_t whole) {
    const ChannelState& first = channels_[pool_[whole].channel];
    const std::uint32_t message = pool_[whole].message - first.first_message;
    const Bundle& bundle = bundles_.bundles[first.bundle];
    close_transfer(whole);
    apart_.clear();
    for (std::uint32_t place = 0; place < bundle.size; ++place) {
        const std::uint32_t c = bundles_.channels[bundle.first + place];
        const std::uint32_t t = open_transfer(c, pool_[whole].sequence, message);
        const OpenTransfer& from = pool_[whole];
        OpenTransfer& transfer = pool_[t];
        transfer.data_start = from.data_start;
        transfer.missing = from.missing;
        transfer.phase = from.phase;
        transfer.pending = from.pending;
        transfer.in_latency = from.in_latency;
        transfer.arrival = from.arrival;
        for (const std::uint32_t id : from.participants) {
            const Team& team = teams_.teams[teams_.team_of[member_of(id)]];
            transfer.participants.push_back(
                stream_of(teams_.members_of(team)[place], streams_[id].stream));
        }
        apart_.push_back(t);
    }
}

// Those of which some flow was slower than the others.
void Execution::take_apart_parted() {
    std::size_t next = 0;  // of apart_
    for (const PartedFlow& parted : rates_.parted()) {
        if (next == 0) {
            take_apart(flow_owner_[index(parted.whole)]);
        }
        if (index(parted.flow) >= flow_owner_.size()) {
            flow_owner_.resize(index(parted.flow) + 1);
        }
        flow_owner_[index(parted.flow)] = apart_[next];
        next = (next + 1) % apart_.size();
    }
}

// After this each waiting op is found with its own state.
void Execution::take_apart_all() {
    for (const Bundle& bundle : bundles_.bundles) {
        std::uint32_t t = channels_[bundles_.channels[bundle.first]].open;
        while (t != kNoTransfer) {
            const std::uint32_t next = pool_[t].next;
            if (pool_[t].bundle) {
                take_apart(t);
            }
            t = next;
        }
    }
}

void Execution::end_bundle(std::uint32_t t, Time now) {
    const std::uint32_t size = channels_[pool_[t].channel].bundle_size;
    for (const std::uint32_t id : pool_[t].participants) {
        if (ranks_[leader_[member_of(id)]].width == size) {
            end_part(leading(id), pool_[t], now);
            continue;
        }
        const Team& team = teams_.teams[teams_.team_of[member_of(id)]];
        for (const std::uint32_t m : teams_.members_of(team)) {
            end_part_of(stream_of(m, streams_[id].stream), t, now);
        }
    }
}

}  // namespace orrery
