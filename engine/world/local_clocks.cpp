// SPDX-License-Identifier: Apache-2.0
#include "engine/world/local_clocks.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"
#include "engine/world/execution.h"

namespace orrery {

namespace {

std::uint64_t bit(std::uint32_t stream) {
    return std::uint64_t{1} << stream;
}

}  // namespace

const ConnectionMessage& LocalClocks::group_message(RankClassId r, const TapeItem& item) const {
    const TapePart& part = state_.tape_of(r).parts[item.first_part];
    const ConnectionState& connection = open_.connections[connection_of_group(r)];
    return plan_.transfers.messages[connection.first_message + part.message];
}

Time LocalClocks::next_due(RankClassId r) const {
    Time next = Time::max();
    for (std::uint64_t left = state_.ranks[r].pending; left != 0; left &= left - 1) {
        const auto s = static_cast<std::uint32_t>(std::countr_zero(left));
        next = std::min(next, state_.streams[state_.stream_of(r, s)].due);
    }
    return next;
}

// Processes the group's own ends before `until`.
void LocalClocks::catch_up(RankClassId r, Time until) {
    const std::size_t first = parts_.streams.num_ready();
    for (Time due = next_due(r); due < until; due = next_due(r)) {
        for (std::uint64_t left = state_.ranks[r].pending; left != 0; left &= left - 1) {
            const auto s = static_cast<std::uint32_t>(std::countr_zero(left));
            const RankStreamId id = state_.stream_of(r, s);
            if (state_.streams[id].due == due && (state_.ranks[r].pending & bit(s)) != 0) {
                state_.ranks[r].pending &= ~bit(s);
                parts_.streams.end_of_phase(id, due);
            }
        }
        parts_.streams.process_ready(due, first);
    }
}

void LocalClocks::wake(RankClassId r, Time now) {
    state_.ranks[r].wake = Time::max();
    catch_up(r, now + Time::picoseconds(1));
    touched_.push_back(r);
}

void LocalClocks::begin_collective(RankStreamId id, const TapeItem& item, Time now) {
    const RankClassId r = state_.rank_of(id);
    StreamState& stream = state_.streams[id];
    stream.phase = StreamPhase::in_group;
    stream.start = now;
    if (stream.slows_kernels) {
        stream.held_sms = parts_.kernels.sms_of(r, item);
        parts_.kernels.change_held(r, now, stream.held_sms);
    }
    const Time alone = group_message(r, item).uncontended_time;
    if (alone == Time{}) {
        end_collective(id, now);
    } else {
        parts_.streams.schedule(id, now + alone);
    }
}

void LocalClocks::end_collective(RankStreamId id, Time now) {
    const RankClassId r = state_.rank_of(id);
    StreamState& stream = state_.streams[id];
    const TapeItem& item = state_.item_of(id);
    stream.path[item.cause] += group_message(r, item).uncontended_time;
    if (stream.slows_kernels) {
        parts_.kernels.change_held(r, now, -std::int64_t{stream.held_sms});
    }
    if (state_.in_last_step(id)) {
        log_.busy[item.cause] += (now - stream.start) * static_cast<std::int64_t>(stream.size);
    }
    parts_.streams.end_item(id, item, now);
}

// The earliest possible start of the stream's current item; Time::max() if it waits for another
// group.
Time LocalClocks::earliest_start(RankStreamId id) const {
    const StreamState& stream = state_.streams[id];
    switch (stream.phase) {
        case StreamPhase::running:
        case StreamPhase::in_group:
        case StreamPhase::queueing:  // its end may still come earlier
            return stream.start;
        case StreamPhase::launching:
            return stream.due;
        case StreamPhase::blocked:
            return earliest_end_in(state_.stream_of(stream.rank, stream.awaited_stream),
                                   stream.awaited_step,
                                   stream.awaited_items);
        default:
            return Time::max();
    }
}

// The earliest time at which the stream can have ended `items` items of its step.
Time LocalClocks::earliest_end(RankStreamId id, std::uint32_t items) const {
    const StreamState& stream = state_.streams[id];
    const std::uint32_t role = state_.ranks[stream.rank].role;
    if (plan_.local_times.next_outside(role, stream.stream, stream.item) < items) {
        return Time::max();
    }
    const Time start = earliest_start(id);
    const std::uint16_t device = state_.ranks[stream.rank].device;
    return start == Time::max()
               ? start
               : start + plan_.local_times.least(role, device, stream.stream, stream.item, items);
}

// The same in a step that the stream may not have begun. In that case the bound is the end of its
// own step.
Time LocalClocks::earliest_end_in(RankStreamId id, std::uint32_t step, std::uint32_t items) const {
    const StreamState& stream = state_.streams[id];
    return earliest_end(id, stream.step == step ? items : stream.tape->num_items());
}

// Schedules the group's event: no later than its next op that concerns others, that its host reads,
// or that is the last of its stream's step.
void LocalClocks::plan_wake(RankClassId r) {
    RankState& rank = state_.ranks[r];
    if (!rank.local_clock || rank.pending == 0) {
        return;
    }
    const std::uint32_t role = rank.role;
    Time earliest = Time::max();
    for (std::uint32_t s = 0; s < state_.tape_of(r).streams.size(); ++s) {
        const RankStreamId id = state_.stream_of(r, s);
        const StreamPhase phase = state_.streams[id].phase;
        if (phase != StreamPhase::done && phase != StreamPhase::arrived) {
            const StreamState& stream = state_.streams[id];
            std::uint32_t last = plan_.local_times.next_outside(role, s, stream.item);
            if (stream.item < stream.tape->host_items) {
                last = std::min(last, stream.tape->host_items);
            }
            earliest = std::min(earliest, earliest_end(id, last));
        }
    }
    if (earliest == Time::max()) {
        return;
    }
    earliest = std::max(earliest, next_due(r));
    if (earliest < rank.wake) {
        rank.wake = earliest;
        clock_.queue.schedule(
            earliest, kTarget | static_cast<std::uint32_t>(r), ++rank.wake_generation);
    }
}

void LocalClocks::plan_wakes() {
    for (const RankClassId r : touched_) {
        plan_wake(r);
    }
    touched_.clear();
}

bool LocalClocks::may_begin(RankClassId r) const {
    const LockstepGroupId t = plan_.groups.group_of[r];
    if (!plan_.local_times.possible(t) || state_.ranks[r].local_clock ||
        state_.ranks[r].width != plan_.groups.groups[t].size) {
        return false;
    }
    const ConnectionClassId c = plan_.groups.groups[t].connection;
    for (const ConnectionClassId other : open_.neighbours_of(c)) {
        if (other != c && open_.connections[other].exclusive != kNoTransfer) {
            return false;
        }
    }
    for (OpenTransferId o = open_.connections[c].open; o != kNoTransfer; o = open_.pool[o].next) {
        const bool uncontended = open_.message_of(o).uncontended;
        if (open_.pool[o].missing > 0 || (!uncontended && !open_.pool[o].exclusive)) {
            return false;
        }
    }
    return open_.connections[c].num_flows == 0;
}

void LocalClocks::begin(RankClassId r) {
    if (!may_begin(r)) {
        return;
    }
    RankState& rank = state_.ranks[r];
    const ConnectionClassId c = connection_of_group(r);
    while (open_.connections[c].open != kNoTransfer) {
        const OpenTransferId t = open_.connections[c].open;
        const OpenTransfer& transfer = open_.pool[t];
        StreamState& stream = state_.streams[state_.leading(transfer.participants.front())];
        stream.phase = StreamPhase::in_group;
        stream.path = transfer.arrival.path;
        stream.due =
            transfer.data_start() + plan_.transfers.messages[transfer.message].uncontended_time;
        open_.close(t);
    }
    open_.connections[c].exclusive = kNoTransfer;
    rank.local_clock = true;
    rank.wake = Time::max();
    rank.pending = 0;
    for (std::uint32_t s = 0; s < state_.num_streams; ++s) {
        StreamState& stream = state_.streams[state_.stream_of(r, s)];
        if (stream.phase == StreamPhase::running || stream.phase == StreamPhase::in_group ||
            stream.phase == StreamPhase::launching || stream.phase == StreamPhase::queueing) {
            rank.pending |= bit(s);
        }
    }
    plan_wake(r);
}

void LocalClocks::end(RankClassId r) {
    RankState& rank = state_.ranks[r];
    if (!rank.local_clock) {
        return;
    }
    rank.local_clock = false;
    const ConnectionClassId c = connection_of_group(r);
    for (std::uint64_t left = rank.pending; left != 0; left &= left - 1) {
        const RankStreamId id =
            state_.stream_of(r, static_cast<std::uint32_t>(std::countr_zero(left)));
        StreamState& stream = state_.streams[id];
        if (stream.phase != StreamPhase::in_group) {
            parts_.streams.schedule(id, stream.due);
            continue;
        }
        const TapePart& part = state_.tape_of(r).parts[state_.item_of(id).first_part];
        const OpenTransferId t = open_.find_or_add(c, state_.sequence_of(id, part), part.message);
        OpenTransfer& transfer = open_.pool[t];
        const ConnectionMessage& message = plan_.transfers.messages[transfer.message];
        state_.for_each_led(r, [&](RankClassId m) {
            transfer.participants.push_back(state_.stream_of(m, stream.stream));
        });
        transfer.missing = 0;
        transfer.arrival.offer(stream.due - message.uncontended_time, stream.path);
        if (!message.uncontended) {
            transfer.exclusive = true;
            open_.connections[c].exclusive = t;
        }
        open_.expect_event(t, stream.due);
        stream.phase = StreamPhase::arrived;
        stream.due = transfer.data_start();
        stream.parts_left = 1;
        stream.last_end = Time::picoseconds(-1);
    }
    rank.pending = 0;
}

void LocalClocks::end_on(ConnectionClassId connection, Time now) {
    const LockstepGroupId group = open_.connections[connection].group;
    if (group == kNoGroup) {
        return;
    }
    const RankClassId r = state_.leader[plan_.members_of_group(group).front()];
    if (state_.ranks[r].local_clock) {
        catch_up(r, now);
        end(r);
    }
}

void LocalClocks::end_all(Time until) {
    for (const RankClassId r : state_.ranks.ids()) {
        if (state_.ranks[r].local_clock) {
            catch_up(r, until);
            end(r);
        }
    }
}

}  // namespace orrery
