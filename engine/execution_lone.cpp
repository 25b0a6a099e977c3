// SPDX-License-Identifier: Apache-2.0
// The part of Execution (engine/execution.h) that moves what is alone on its links
// (engine/lone_channels.h) without the solver. Exact: the solver would give such a transfer its
// full rate until something shares a link with it, and from then on it is the solver's.
#include "engine/execution.h"

namespace orrery {

// Starts the transfer if it is alone; else everything that shares links with it, and it, are flows.
bool Execution::begin_alone(std::uint32_t t, Time now) {
    const std::uint32_t own = pool_[t].channel;
    if (channels_[own].num_disturbed == 0) {
        return false;
    }
    for (const std::uint32_t c : disturbed_by(own)) {
        disturb_own_time(c, now);
    }
    OpenTransfer& transfer = pool_[t];
    ChannelState& channel = channels_[own];
    bool alone = channel.mostly_alone && channel.busy == 0;
    for (const std::uint32_t c : disturbed_by(transfer.channel)) {
        if (channels_[c].lone != kNoTransfer) {
            join_flows(channels_[c].lone, now);
            alone = false;
        }
    }
    if (!alone) {
        disturb(transfer.channel, 1);
        return false;
    }
    channel.lone = t;
    transfer.lone = true;
    queue_.schedule(now + transfers_.messages[transfer.message].alone,
                    static_cast<std::uint32_t>(streams_.size()) + t,
                    transfer.generation);
    return true;
}

// Something comes that shares a link with a transfer that has been alone.
void Execution::join_flows(std::uint32_t t, Time now) {
    OpenTransfer& transfer = pool_[t];
    const ChannelMessage& message = transfers_.messages[transfer.message];
    channels_[transfer.channel].lone = kNoTransfer;
    if (now == transfer.data_start + message.alone) {
        return;  // it is over, and its end is still to be handled at this instant
    }
    transfer.lone = false;
    ++transfer.generation;
    disturb(transfer.channel, 1);
    const Phase& phase = transfers_.phases[message.first_phase];
    const Time flows_since = transfer.data_start + phase.latency;
    if (now <= flows_since) {
        transfer.in_latency = true;
        queue_.schedule(
            flows_since, static_cast<std::uint32_t>(streams_.size()) + t, transfer.generation);
        return;
    }
    const Part& part = transfers_.parts[phase.first_part];
    ++transfer.pending;
    own_flow(
        t,
        phase.first_part,
        rates_.start_under_way(
            now, quotient_.footprints[phase.first_part], part.bytes, part.rate_max, flows_since));
}

void Execution::end_alone_or_not(std::uint32_t t) {
    const OpenTransfer& transfer = pool_[t];
    ChannelState& channel = channels_[transfer.channel];
    if (!transfer.lone) {
        disturb(transfer.channel, -1);
    } else if (channel.lone == t) {
        channel.lone = kNoTransfer;
    }
}

// A flow on `channel` begins (1) or ends (-1).
void Execution::disturb(std::uint32_t channel, std::int32_t change) {
    for (const std::uint32_t c : disturbed_by(channel)) {
        channels_[c].busy += change;
        if (channels_[c].busy == 0 && channels_[c].meets != kNoTeam) {
            meetings_.push_back(channels_[c].meets);
        }
    }
}

}  // namespace orrery
