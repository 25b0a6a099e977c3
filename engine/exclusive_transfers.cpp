// SPDX-License-Identifier: Apache-2.0
#include "engine/exclusive_transfers.h"

#include "engine/execution.h"

namespace orrery {

bool ExclusiveTransfers::begin(std::uint32_t t, Time now) {
    const std::uint32_t own = open_.pool[t].channel;
    if (open_.channels[own].num_neighbours == 0) {
        return false;
    }
    for (const std::uint32_t c : open_.neighbours_of(own)) {
        parts_.clocks.end_on(c, now);
    }
    OpenTransfer& transfer = open_.pool[t];
    ChannelState& channel = open_.channels[own];
    bool alone = channel.mostly_exclusive && channel.num_flows == 0;
    for (const std::uint32_t c : open_.neighbours_of(transfer.channel)) {
        if (open_.channels[c].exclusive != kNoTransfer) {
            become_flow(open_.channels[c].exclusive, now);
            alone = false;
        }
    }
    if (!alone) {
        count_flow(transfer.channel, 1);
        return false;
    }
    channel.exclusive = t;
    transfer.exclusive = true;
    open_.expect_event(t, now + open_.message_of(t).alone);
    return true;
}

// Something comes that shares a link with a transfer that has been alone.
void ExclusiveTransfers::become_flow(std::uint32_t t, Time now) {
    OpenTransfer& transfer = open_.pool[t];
    const ChannelMessage& message = open_.message_of(t);
    open_.channels[transfer.channel].exclusive = kNoTransfer;
    if (now == transfer.data_start + message.alone) {
        return;  // it is over, and its end is still to be handled at this instant
    }
    transfer.exclusive = false;
    ++transfer.generation;
    count_flow(transfer.channel, 1);
    const Phase& phase = plan_.transfers.phases[message.first_phase];
    const Time flows_since = transfer.data_start + phase.latency;
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

void ExclusiveTransfers::end(std::uint32_t t) {
    const OpenTransfer& transfer = open_.pool[t];
    ChannelState& channel = open_.channels[transfer.channel];
    if (!transfer.exclusive) {
        count_flow(transfer.channel, -1);
    } else if (channel.exclusive == t) {
        channel.exclusive = kNoTransfer;
    }
}

// A flow on `channel` begins (1) or ends (-1).
void ExclusiveTransfers::count_flow(std::uint32_t channel, std::int32_t change) {
    for (const std::uint32_t c : open_.neighbours_of(channel)) {
        open_.channels[c].num_flows += change;
        if (open_.channels[c].num_flows == 0 && open_.channels[c].group != kNoGroup) {
            parts_.lockstep.consider_reunion(open_.channels[c].group);
        }
    }
}

}  // namespace orrery
