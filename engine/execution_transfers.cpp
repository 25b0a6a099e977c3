// SPDX-License-Identifier: Apache-2.0
// The part of Execution (engine/execution.h) that moves data: arrivals, phases, ends.
#include <algorithm>

#include "engine/check.h"
#include "engine/execution.h"

namespace orrery {

void Execution::arrive(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    if (ranks_[r].own_time) {
        if (own_time_.is_meeting(ranks_[r].role, item)) {
            meet(id, item, now);
            return;
        }
        ORRERY_CHECK(now == instant_);
    }
    StreamState& stream = streams_[id];
    stream.phase = StreamPhase::arrived;
    stream.start = now;
    stream.last_end = Time::picoseconds(-1);
    stream.due = now;  // the last data start
    stream.parts_left = item.num_parts;
    if (streams_[id].slows_kernels) {
        stream.held_sms = sms_of(r, item);
        change_held(r, now, stream.held_sms);
    }
    if (item.num_parts == 0) {
        trace_item(id, item, now, now);
        end_item(id, item, now);
        return;
    }
    for (std::uint32_t p = 0; p < item.num_parts; ++p) {
        join(id, tape_of(r).parts[item.first_part + p], now);
    }
}

void Execution::join(std::uint32_t id, const TapePart& part, Time now) {
    if (join_bundle(id, part, now)) {
        return;
    }
    const std::uint32_t r = rank_of(id);
    const std::uint32_t sequence = sequence_of(r, part);
    if (ranks_[r].width > 1) {
        prefetch_transfers(r, part.channel);
    }
    std::uint32_t last_channel = UINT32_MAX;
    std::uint32_t t = kNoTransfer;
    for_each_led(r, [&](std::uint32_t m) {
        const std::uint32_t c =
            quotient_.channel_of[quotient_.ranks[m].first_channel + part.channel];
        if (c != last_channel) {
            last_channel = c;
            t = open_transfer(c, sequence, part.message);
            pool_[t].arrival.offer(now, streams_[id].path);
        }
        OpenTransfer& transfer = pool_[t];
        transfer.participants.push_back(stream_of(m, streams_[id].stream));
        if (--transfer.missing > 0 || transfer.lost) {
            return;
        }
        if (transfer.promised) {
            expect_end(t);
        } else {
            begin_transfer(t, now);
        }
    });
}

// What join() will ask for.
void Execution::prefetch_transfers(std::uint32_t r, std::uint32_t channel) const {
    const auto channel_of = [&](std::uint32_t m) -> const ChannelState& {
        return channels_[quotient_.channel_of[quotient_.ranks[m].first_channel + channel]];
    };
    for_each_led(r, [&](std::uint32_t m) { prefetch_all(&channel_of(m)); });
    for_each_led(r, [&](std::uint32_t m) {
        const std::uint32_t t = channel_of(m).open;
        if (t != kNoTransfer) {
            prefetch_all(&pool_[t]);
        }
    });
}

// A run that ends at `due` tells the collective after it, if nothing but the arrivals decides when
// that ends and no kernel would notice the arrival. False if it has to have its own event.
bool Execution::promise(std::uint32_t id, const TapeItem& item, Time due) {
    StreamState& stream = streams_[id];
    if (!item.leads_to_collective || stream.traced || !schedules_arrivals_) {
        return false;
    }
    const std::uint32_t r = stream.rank;
    const TapePart& part = tape_of(r).parts[item_after(id).first_part];
    const std::uint32_t c = quotient_.channel_of[stream.first_channel + part.channel];
    const ChannelMessage& message = transfers_.messages[channels_[c].first_message + part.message];
    if (!message.fixed || message.alone == Time::max() ||
        (stream.slows_kernels && message.sms > 0)) {
        return false;
    }
    if (ranks_[r].width > 1 && channels_[c].team != teams_.team_of[r]) {
        return false;  // each member has a collective of its own
    }
    const std::uint32_t t = open_transfer(c, sequence_of(r, part), part.message);
    OpenTransfer& transfer = pool_[t];
    for_each_led(
        r, [&](std::uint32_t m) { transfer.participants.push_back(stream_of(m, stream.stream)); });
    transfer.promised = true;
    stream.phase = StreamPhase::promised;
    stream.due = due;
    stream.transfer = t;
    transfer.missing -= ranks_[r].width;
    if (transfer.missing == 0) {
        expect_end(t);
    }
    return true;
}

// All members have arrived or said when they will. May be called again when one of them changes.
void Execution::expect_end(std::uint32_t t) {
    OpenTransfer& transfer = pool_[t];
    if (transfer.lost) {
        return;
    }
    Time last;
    for (const std::uint32_t participant : transfer.participants) {
        const std::uint32_t id = leading(participant);
        const bool arrived = streams_[id].phase == StreamPhase::arrived;
        last = std::max(last, arrived ? streams_[id].start : promised_arrival(id));
    }
    transfer.data_start = last;
    queue_.schedule(last + transfers_.messages[transfer.message].alone,
                    static_cast<std::uint32_t>(streams_.size()) + t,
                    ++transfer.generation);
}

// The promised runs have ended and their streams have arrived.
void Execution::keep_promises(std::uint32_t t, Time now) {
    OpenTransfer& transfer = pool_[t];
    for (const std::uint32_t id : transfer.participants) {
        prefetch_all(&streams_[leading(id)]);
        prefetch_rank(leader_[member_of(id)]);
    }
    for (const std::uint32_t participant : transfer.participants) {
        const std::uint32_t id = leading(participant);
        StreamState& stream = streams_[id];
        if (stream.phase != StreamPhase::promised) {
            continue;
        }
        const std::uint32_t r = rank_of(id);
        const TapeItem& run = item_of(id);
        const Time arrival = promised_arrival(id);
        if (!walks_.empty() && walks_[id].run != nullptr) {
            trace_walk(id, now);
        }
        finish_run(id, run, stream.due);
        report_progress(run, stream.size);
        ++stream.item;
        if (arrival > stream.due) {
            stream.path = launch_path(r, item_of(id));
        }
        stream.phase = StreamPhase::arrived;
        stream.start = arrival;
        stream.last_end = Time::picoseconds(-1);
        stream.due = arrival;
        stream.parts_left = 1;
        stream.held_sms = 0;  // or it would have had to arrive by an event of its own
        transfer.arrival.offer(arrival, stream.path);
    }
}

std::uint32_t Execution::open_transfer(std::uint32_t c,
                                       std::uint32_t sequence,
                                       std::uint32_t message) {
    for (std::uint32_t t = channels_[c].open; t != kNoTransfer; t = pool_[t].next) {
        if (pool_[t].sequence == sequence) {
            return t;
        }
    }
    if (channels_[c].bundle != kNoBundle) {
        ++channels_[channels_[c].bundle_first].num_apart;
    }
    return new_transfer(c, sequence, message);
}

std::uint32_t Execution::new_transfer(std::uint32_t c,
                                      std::uint32_t sequence,
                                      std::uint32_t message) {
    ChannelState& channel = channels_[c];
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(pool_.size()));
        pool_.emplace_back();
    }
    const std::uint32_t t = free_.back();
    free_.pop_back();
    OpenTransfer& transfer = pool_[t];
    transfer.arrival.end = Time::picoseconds(-1);
    transfer.channel = c;
    transfer.message = channel.first_message + message;
    transfer.sequence = sequence;
    transfer.missing = channel.num_members;
    transfer.phase = 0;
    transfer.pending = 0;
    transfer.in_latency = false;
    transfer.lone = false;
    transfer.promised = false;
    transfer.lost = false;
    transfer.bundle = false;
    transfer.participants.clear();
    transfer.next = channel.open;
    channel.open = t;
    return t;
}

void Execution::close_transfer(std::uint32_t t) {
    ChannelState& channel = channels_[pool_[t].channel];
    std::uint32_t* link = &channel.open;
    while (*link != t) {
        link = &pool_[*link].next;
    }
    if (channel.bundle != kNoBundle && !pool_[t].bundle) {
        --channels_[channel.bundle_first].num_apart;
    }
    *link = pool_[t].next;
    ++pool_[t].generation;
    closed_.push_back(t);  // free only after this instant: ends of a team's members name it
}

void Execution::begin_transfer(std::uint32_t t, Time now) {
    OpenTransfer& transfer = pool_[t];
    transfer.data_start = now;
    const ChannelMessage& message = transfers_.messages[transfer.message];
    if (!message.fixed) {
        if (!begin_alone(t, now)) {
            continue_transfer(t, now);
        }
    } else if (message.alone == Time{}) {
        end_transfer(t, now);
    } else if (message.alone < Time::max()) {
        queue_.schedule(now + message.alone,
                        static_cast<std::uint32_t>(streams_.size()) + t,
                        transfer.generation);
    }
}

// Goes on with the phase that comes next, until something takes time.
void Execution::continue_transfer(std::uint32_t t, Time now) {
    OpenTransfer& transfer = pool_[t];
    const ChannelMessage& message = transfers_.messages[transfer.message];
    while (transfer.phase < message.num_phases) {
        const Phase& phase = transfers_.phases[message.first_phase + transfer.phase];
        if (phase.latency > Time{}) {
            transfer.in_latency = true;
            queue_.schedule(now + phase.latency,
                            static_cast<std::uint32_t>(streams_.size()) + t,
                            transfer.generation);
            return;
        }
        start_parts(t, now);
        if (transfer.pending > 0) {
            return;
        }
        ++transfer.phase;
    }
    end_transfer(t, now);
}

void Execution::start_parts(std::uint32_t t, Time now) {
    OpenTransfer& transfer = pool_[t];
    const ChannelMessage& message = transfers_.messages[transfer.message];
    const Phase& phase = transfers_.phases[message.first_phase + transfer.phase];
    const FootprintId bundle =
        transfer.bundle ? bundles_.flows[message.first_phase + transfer.phase] : kNoLinks;
    if (bundle != kNoLinks) {
        const Part& part = transfers_.parts[phase.first_part];
        ++transfer.pending;
        own_flow(t, phase.first_part, rates_.start(now, bundle, part.bytes, part.rate_max));
        return;
    }
    if (phase.num_parts > 1 && quotient_.joined[phase.first_part] != kNoLinks && !transfer.lost) {
        const Part& part = transfers_.parts[phase.first_part];
        ++transfer.pending;
        own_flow(t,
                 phase.first_part,
                 rates_.start(now, quotient_.joined[phase.first_part], part.bytes, part.rate_max));
        return;
    }
    for (std::uint32_t p = phase.first_part; p < phase.first_part + phase.num_parts; ++p) {
        const Part& part = transfers_.parts[p];
        if (part.bytes == Bytes{}) {
            continue;
        }
        if (transfer.lost) {
            return;
        }
        ++transfer.pending;
        if (quotient_.footprints[p] == kNoLinks) {
            const Time taken = part.bytes / part.rate_max;
            if (taken < Time::max()) {
                queue_.schedule(now + taken,
                                static_cast<std::uint32_t>(streams_.size()) + t,
                                transfer.generation);
            }
            continue;
        }
        if (meets_outage(p)) {
            await_path(t, p, part.bytes, now);
            continue;
        }
        own_flow(t, p, rates_.start(now, quotient_.footprints[p], part.bytes, part.rate_max));
    }
}

void Execution::own_flow(std::uint32_t t, std::uint32_t part, FlowId flow, std::uint32_t path) {
    if (index(flow) >= flow_owner_.size()) {
        flow_owner_.resize(index(flow) + 1);
    }
    flow_owner_[index(flow)] = t;
    if (events_ != nullptr) {
        events_->begins(flow, t, part, path);
    }
    rates_changed_ = true;
}

void Execution::transfer_event(std::uint32_t t, Time now) {
    OpenTransfer& transfer = pool_[t];
    if (transfers_.messages[transfer.message].fixed) {
        if (transfer.promised) {
            keep_promises(t, now);
        }
        end_transfer(t, now);
        return;
    }
    if (transfer.lone) {
        end_transfer(t, now);
        return;
    }
    if (transfer.in_latency) {
        transfer.in_latency = false;
        start_parts(t, now);
    } else {
        --transfer.pending;
    }
    if (transfer.pending == 0) {
        ++transfer.phase;
        continue_transfer(t, now);
    }
}

void Execution::flows_end(Time now) {
    ended_flows_.clear();
    rates_.pop_completed(now, ended_flows_);
    rates_changed_ = true;
    ended_owners_.clear();  // what starts below may reuse the ids
    for (const FlowId flow : ended_flows_) {
        ended_owners_.push_back(flow_owner_[index(flow)]);
        prefetch_all(&pool_[ended_owners_.back()]);
        if (events_ != nullptr) {
            events_->ends(flow);
        }
    }
    for (const std::uint32_t t : ended_owners_) {
        if (--pool_[t].pending == 0) {
            ++pool_[t].phase;
            continue_transfer(t, now);
        }
    }
    drain(now);
}

void Execution::end_transfer(std::uint32_t t, Time now) {
    close_transfer(t);
    if (!transfers_.messages[pool_[t].message].fixed) {
        end_alone_or_not(t);
    }
    // Ends of ops only make streams ready: nothing below opens a transfer.
    const OpenTransfer& transfer = pool_[t];
    if (transfer.bundle) {
        end_bundle(t, now);
        return;
    }
    for (const std::uint32_t id : transfer.participants) {
        prefetch_all(&streams_[leading(id)]);
        prefetch_rank(leader_[member_of(id)]);
    }
    const std::uint32_t team = channels_[transfer.channel].meets;
    if (team != kNoTeam) {
        meetings_.push_back(team);
        const std::uint32_t leader = teams_.members[teams_.teams[team].first];
        if (ranks_[leader].width == teams_.teams[team].size) {
            end_part(leading(transfer.participants.front()), transfer, now);
            return;
        }
    }
    for (const std::uint32_t id : transfer.participants) {
        end_part_of(id, t, now);
    }
}

// Ends the part of one member, which may be led by another rank.
void Execution::end_part_of(std::uint32_t id, std::uint32_t t, Time now) {
    if (ranks_[leader_[member_of(id)]].width > 1) {
        end_part_of_team(id, t, now);
    } else {
        end_part(id, pool_[t], now);
    }
}

void Execution::end_part(std::uint32_t id, const OpenTransfer& transfer, Time now) {
    const std::uint32_t r = rank_of(id);
    touch(r, now);
    StreamState& stream = streams_[id];
    const TapeItem& item = item_of(id);
    const Time alone = transfers_.messages[transfer.message].alone;
    const Time taken = now - transfer.data_start;
    if (now > stream.last_end) {
        stream.path = transfer.arrival.path;
        add_transfer(stream.path, item.cause, alone, taken);
        stream.last_end = now;
    } else {
        CauseTimes path = transfer.arrival.path;
        add_transfer(path, item.cause, alone, taken);
        stream.path = preferred(path, stream.path) ? path : stream.path;
    }
    stream.due = std::max(stream.due, transfer.data_start);
    if (--stream.parts_left > 0) {
        return;
    }
    if (streams_[id].slows_kernels) {
        change_held(r, now, -std::int64_t{stream.held_sms});
    }
    if (last_step(r)) {
        busy_[item.cause] += (now - stream.start) * static_cast<std::int64_t>(stream.size);
    }
    if (stream.traced) {
        trace_item(id, item, stream.due, now);
    }
    end_item(id, item, now);
}

}  // namespace orrery
