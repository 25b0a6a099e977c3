// SPDX-License-Identifier: Apache-2.0
// The part of Execution (engine/execution.h) in which a team that is together keeps time on its
// own (engine/own_time.h). Its runs and its collectives have no events: each of its streams knows
// when what it does ends, and the team *catches up* when somebody else's transfer ends on it, or
// when it may have got to an op that concerns others: for that it has one event, no later than
// that op. Until then no other team sees what it does, so only the order of the work changes,
// and what a team does in a row lies in the cache.
// When a member goes on without the others, or when something comes over the links of the team's
// collectives, the streams get events again.
#include <algorithm>

#include "engine/check.h"
#include "engine/execution.h"

namespace orrery {

namespace {

std::uint64_t bit(std::uint32_t stream) {
    return std::uint64_t{1} << stream;
}

}  // namespace

const ChannelMessage& Execution::meeting_message(std::uint32_t r, const TapeItem& item) const {
    const TapePart& part = tape_of(r).parts[item.first_part];
    const ChannelState& channel = channels_[teams_.teams[teams_.team_of[r]].channel];
    return transfers_.messages[channel.first_message + part.message];
}

// --- what a team does by itself ---

Time Execution::next_due(std::uint32_t r) const {
    Time next = Time::max();
    for (std::uint64_t left = ranks_[r].pending; left != 0; left &= left - 1) {
        const auto s = static_cast<std::uint32_t>(std::countr_zero(left));
        next = std::min(next, streams_[stream_of(r, s)].due);
    }
    return next;
}

// All that happens before `until`.
void Execution::catch_up(std::uint32_t r, Time until) {
    const std::size_t first = ready_.size();
    for (Time due = next_due(r); due < until; due = next_due(r)) {
        for (std::uint64_t left = ranks_[r].pending; left != 0; left &= left - 1) {
            const auto s = static_cast<std::uint32_t>(std::countr_zero(left));
            const std::uint32_t id = stream_of(r, s);
            if (streams_[id].due == due && (ranks_[r].pending & bit(s)) != 0) {
                ranks_[r].pending &= ~bit(s);
                stream_event(id, due);
            }
        }
        drain(due, first);
    }
}

// Before something happens to it at `now`.
void Execution::touch(std::uint32_t r, Time now) {
    if (ranks_[r].own_time) {
        catch_up(r, now);
        touched_.push_back(r);
    }
}

// Its event: it may have got to an op that concerns others.
void Execution::wake(std::uint32_t r, Time now) {
    ranks_[r].wake = Time::max();
    catch_up(r, now + Time::picoseconds(1));
    touched_.push_back(r);
}

void Execution::meet(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    StreamState& stream = streams_[id];
    stream.phase = StreamPhase::meeting;
    stream.start = now;
    if (stream.slows_kernels) {
        stream.held_sms = sms_of(r, item);
        change_held(r, now, stream.held_sms);
    }
    const Time alone = meeting_message(r, item).alone;
    if (alone == Time{}) {
        end_meeting(id, now);
    } else {
        schedule(id, now + alone);
    }
}

void Execution::end_meeting(std::uint32_t id, Time now) {
    const std::uint32_t r = rank_of(id);
    StreamState& stream = streams_[id];
    const TapeItem& item = item_of(id);
    stream.path[item.cause] += meeting_message(r, item).alone;
    if (stream.slows_kernels) {
        change_held(r, now, -std::int64_t{stream.held_sms});
    }
    if (last_step(r)) {
        busy_[item.cause] += (now - stream.start) * static_cast<std::int64_t>(stream.size);
    }
    end_item(id, item, now);
}

// --- until when ---

// When the item that is next or under way on a stream can have started at the earliest; never, if
// that takes somebody else first.
Time Execution::earliest_start(std::uint32_t id) const {
    const StreamState& stream = streams_[id];
    switch (stream.phase) {
        case StreamPhase::running:
        case StreamPhase::meeting:
            return stream.start;
        case StreamPhase::launching:
            return stream.due;
        case StreamPhase::blocked:
            return earliest_end(stream_of(stream.rank, stream.awaited_stream),
                                stream.awaited_items);
        default:
            return Time::max();
    }
}

// The earliest time at which a stream can have ended `items` items.
Time Execution::earliest_end(std::uint32_t id, std::uint32_t items) const {
    const StreamState& stream = streams_[id];
    const std::uint32_t role = ranks_[stream.rank].role;
    if (own_time_.next_outside(role, stream.stream, stream.item) < items) {
        return Time::max();
    }
    const Time start = earliest_start(id);
    const std::uint16_t device = ranks_[stream.rank].device;
    return start == Time::max()
               ? start
               : start + own_time_.least(role, device, stream.stream, stream.item, items);
}

// No later than when the team gets to an op that concerns others, or to the end of the step.
void Execution::plan_wake(std::uint32_t r) {
    RankState& rank = ranks_[r];
    if (!rank.own_time || rank.pending == 0) {
        return;
    }
    const std::uint32_t role = rank.role;
    Time earliest = Time::max();
    for (std::uint32_t s = 0; s < tape_of(r).streams.size(); ++s) {
        const std::uint32_t id = stream_of(r, s);
        const StreamPhase phase = streams_[id].phase;
        if (phase != StreamPhase::done && phase != StreamPhase::arrived) {
            const std::uint32_t outside = own_time_.next_outside(role, s, streams_[id].item);
            earliest = std::min(earliest, earliest_end(id, outside));
        }
    }
    if (earliest == Time::max()) {
        return;
    }
    earliest = std::max(earliest, next_due(r));
    if (earliest < rank.wake) {
        rank.wake = earliest;
        queue_.schedule(earliest, kOwnTime | r, ++rank.wake_generation);
    }
}

void Execution::plan_wakes() {
    for (const std::uint32_t r : touched_) {
        plan_wake(r);
    }
    touched_.clear();
}

// --- from the clock of all to its own, and back ---

bool Execution::may_keep_own_time(std::uint32_t r) const {
    const std::uint32_t t = teams_.team_of[r];
    if (!own_time_.possible(t) || ranks_[r].own_time || ranks_[r].width != teams_.teams[t].size) {
        return false;
    }
    const std::uint32_t c = teams_.teams[t].channel;
    for (const std::uint32_t other : disturbed_by(c)) {
        if (other != c && channels_[other].lone != kNoTransfer) {
            return false;
        }
    }
    for (std::uint32_t o = channels_[c].open; o != kNoTransfer; o = pool_[o].next) {
        const bool fixed = transfers_.messages[pool_[o].message].fixed;
        if (!pool_[o].promised && (pool_[o].missing > 0 || (!fixed && !pool_[o].lone))) {
            return false;
        }
    }
    return channels_[c].busy == 0;
}

void Execution::begin_own_time(std::uint32_t r) {
    if (!may_keep_own_time(r)) {
        return;
    }
    RankState& rank = ranks_[r];
    const std::uint32_t c = teams_.teams[teams_.team_of[r]].channel;
    while (channels_[c].open != kNoTransfer) {
        const std::uint32_t t = channels_[c].open;
        const OpenTransfer& transfer = pool_[t];
        StreamState& stream = streams_[leading(transfer.participants.front())];
        if (stream.phase == StreamPhase::promised) {
            stream.phase = StreamPhase::running;
        } else {
            stream.phase = StreamPhase::meeting;
            stream.path = transfer.arrival.path;
            stream.due = transfer.data_start + transfers_.messages[transfer.message].alone;
        }
        close_transfer(t);
    }
    channels_[c].lone = kNoTransfer;
    rank.own_time = true;
    rank.wake = Time::max();
    rank.pending = 0;
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        StreamState& stream = streams_[stream_of(r, s)];
        if (stream.phase == StreamPhase::running || stream.phase == StreamPhase::meeting ||
            stream.phase == StreamPhase::launching) {
            rank.pending |= bit(s);
        }
    }
    plan_wake(r);
}

// At an instant up to which it has caught up.
void Execution::end_own_time(std::uint32_t r) {
    RankState& rank = ranks_[r];
    if (!rank.own_time) {
        return;
    }
    rank.own_time = false;
    const std::uint32_t c = teams_.teams[teams_.team_of[r]].channel;
    for (std::uint64_t left = rank.pending; left != 0; left &= left - 1) {
        const std::uint32_t id = stream_of(r, static_cast<std::uint32_t>(std::countr_zero(left)));
        StreamState& stream = streams_[id];
        if (stream.phase != StreamPhase::meeting) {
            schedule(id, stream.due);
            continue;
        }
        const TapePart& part = tape_of(r).parts[item_of(id).first_part];
        const std::uint32_t t = open_transfer(c, sequence_of(r, part), part.message);
        OpenTransfer& transfer = pool_[t];
        const ChannelMessage& message = transfers_.messages[transfer.message];
        for_each_led(r, [&](std::uint32_t m) {
            transfer.participants.push_back(stream_of(m, stream.stream));
        });
        transfer.missing = 0;
        transfer.data_start = stream.due - message.alone;
        transfer.arrival.offer(transfer.data_start, stream.path);
        if (!message.fixed) {
            transfer.lone = true;
            channels_[c].lone = t;
        }
        queue_.schedule(
            stream.due, static_cast<std::uint32_t>(streams_.size()) + t, transfer.generation);
        stream.phase = StreamPhase::arrived;
        stream.due = transfer.data_start;
        stream.parts_left = 1;
        stream.last_end = Time::picoseconds(-1);
    }
    rank.pending = 0;
}

// Something comes over the links of the collectives on `channel`.
void Execution::disturb_own_time(std::uint32_t channel, Time now) {
    const std::uint32_t team = channels_[channel].meets;
    if (team == kNoTeam) {
        return;
    }
    const std::uint32_t r = leader_[teams_.members_of(teams_.teams[team]).front()];
    if (ranks_[r].own_time) {
        catch_up(r, now);
        end_own_time(r);
    }
}

// Nothing will ever happen any more but this.
void Execution::end_all_own_time(Time until) {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].own_time) {
            catch_up(r, until);
            end_own_time(r);
        }
    }
}

}  // namespace orrery
