// SPDX-License-Identifier: Apache-2.0
#include "engine/world/stream_runner.h"

#include <bit>

#include "engine/base/check.h"
#include "engine/world/execution.h"

namespace orrery {

void StreamRunner::process_ready(Time now, std::size_t first) {
    for (std::size_t i = first; i < ready_.size(); ++i) {
        try_start(ready_[i], now);
    }
    ready_.resize(first);
    if (first == 0 && now == clock_.instant) {
        parts_.clocks.plan_wakes();
    }
}

bool StreamRunner::conditions_hold(RankStreamId id, const TapeItem& item, Time now) {
    const RankClassId r = state_.rank_of(id);
    const RoleTape& tape = state_.tape_of(r);
    StreamState& stream = state_.streams[id];
    for (std::uint32_t w = 0; w < item.num_waits; ++w) {
        const ItemCondition& condition = tape.conditions[item.first_wait + w];
        const StreamState& other = state_.streams[state_.stream_of(r, condition.stream)];
        if (!state_.holds(condition, other, stream.step)) {
            stream.phase = StreamPhase::blocked;
            state_.ranks[r].blocked |= std::uint64_t{1} << stream.stream;
            stream.awaited_stream = static_cast<std::uint8_t>(condition.stream);
            stream.awaited_items = condition.items;
            stream.awaited_step = stream.step - (condition.carried ? 1 : 0);
            return false;
        }
    }
    if (stream.ended != now) {
        continue_path(id, item, now);
    }
    return true;
}

namespace {

// Whether the awaited item is the last one that the stream has ended. The stream may already be in
// its next step.
bool was_last(const StreamState& other, const ItemCondition& condition, std::uint32_t step) {
    const std::uint32_t awaited_step = step - (condition.carried ? 1 : 0);
    return other.step == awaited_step ? other.item == condition.items
                                      : other.step == awaited_step + 1 && other.item == 0 &&
                                            condition.items == other.tape->num_items();
}

}  // namespace

// Continues the path of the condition that became true last, at `now`, unless that is the end of
// the stream's previous item.
void StreamRunner::continue_path(RankStreamId id, const TapeItem& item, Time now) {
    StreamState& stream = state_.streams[id];
    if (stream.item == 0 && state_.entered(id) == now) {
        stream.path = state_.host_path(id);
        return;
    }
    const RoleTape& tape = state_.tape_of(stream.rank);
    // Two awaited streams may end items at this instant, and one of them may have ended the awaited
    // item earlier. Then the other stream was last, whichever is handled first.
    const StreamState* last = nullptr;
    for (std::uint32_t w = 0; w < item.num_waits; ++w) {
        const ItemCondition& condition = tape.conditions[item.first_wait + w];
        const StreamState& other = state_.streams[state_.stream_of(stream.rank, condition.stream)];
        if (other.ended == now && was_last(other, condition, stream.step)) {
            last = &other;
            break;
        }
        last = last == nullptr && other.ended == now ? &other : last;
    }
    ORRERY_CHECK(last != nullptr);
    stream.path = last->path;
}

void StreamRunner::try_start(RankStreamId id, Time now) {
    StreamState& stream = state_.streams[id];
    const TapeItem& item = state_.item_of(id);
    if (!conditions_hold(id, item, now)) {
        return;
    }
    if (item.kind == ItemKind::run) {
        parts_.kernels.begin_run(id, item, now);
        return;
    }
    const Time launch = state_.launch_of(id, item);
    if (launch > now) {
        stream.phase = StreamPhase::launching;
        schedule(id, launch);
        return;
    }
    ask_for_sms(id, item, now);
}

// An op that holds SMs asks for them a picosecond later, when all kernels that start now have
// started.
void StreamRunner::ask_for_sms(RankStreamId id, const TapeItem& item, Time now) {
    if (!parts_.kernels.queues(state_.rank_of(id), item)) {
        parts_.transfers.arrive(id, item, now);
        return;
    }
    state_.streams[id].phase = StreamPhase::queueing;
    state_.streams[id].start = now + kAsksAfter;
    schedule(id, now + kAsksAfter);
}

void StreamRunner::end_of_queue(RankStreamId id, Time now) {
    StreamState& stream = state_.streams[id];
    const Time free = parts_.kernels.sms_free(id, now);
    if (free > now) {
        schedule(id, free);
        return;
    }
    stream.path[Cause::interference] += now - (stream.start - kAsksAfter);
    parts_.transfers.arrive(id, state_.item_of(id), now);
}

void StreamRunner::schedule(RankStreamId id, Time due) {
    StreamState& stream = state_.streams[id];
    stream.due = due;
    if (state_.ranks[stream.rank].local_clock) {
        state_.ranks[stream.rank].pending |= std::uint64_t{1} << stream.stream;
    } else {
        expect_event(stream);
    }
}

// An item's end is postponed more often than it comes. A queued event that is too early stays in
// the queue: when it comes, the stream schedules another.
void StreamRunner::expect_event(StreamState& stream) {
    if (stream.due < stream.queued) {
        stream.queued = stream.due;
        clock_.queue.schedule(
            stream.due,
            static_cast<std::uint32_t>(state_.stream_of(stream.rank, stream.stream)),
            ++stream.generation);
    }
}

bool StreamRunner::awaits_event(const StreamState& stream) const {
    return (stream.phase == StreamPhase::running || stream.phase == StreamPhase::launching ||
            stream.phase == StreamPhase::queueing) &&
           !state_.ranks[stream.rank].local_clock;
}

void StreamRunner::queued_event(RankStreamId id, Time now) {
    StreamState& stream = state_.streams[id];
    stream.queued = Time::max();
    if (!awaits_event(stream)) {
        return;
    }
    if (stream.due > now) {
        expect_event(stream);
    } else {
        end_of_phase(id, now);
    }
}

void StreamRunner::end_of_phase(RankStreamId id, Time now) {
    const StreamPhase phase = state_.streams[id].phase;
    if (phase == StreamPhase::launching) {
        // Set the path only now: ops that waited for the last end have used the path to that end.
        state_.streams[id].path = state_.launch_path(id, state_.item_of(id));
        ask_for_sms(id, state_.item_of(id), now);
    } else if (phase == StreamPhase::queueing) {
        end_of_queue(id, now);
    } else if (phase == StreamPhase::in_group) {
        parts_.clocks.end_collective(id, now);
    } else {
        parts_.kernels.end_run(id, now);
    }
}

void StreamRunner::end_item(RankStreamId id, const TapeItem& item, Time now) {
    const RankClassId r = state_.rank_of(id);
    StreamState& stream = state_.streams[id];
    stream.ended = now;
    ++stream.item;
    log_.report_progress(item, stream.size);
    if (item.watched) {
        for (std::uint64_t left = state_.ranks[r].blocked; left != 0; left &= left - 1) {
            const auto s = static_cast<std::uint32_t>(std::countr_zero(left));
            StreamState& other = state_.streams[state_.stream_of(r, s)];
            if (other.awaited_stream == stream.stream &&
                stream.has_ended(other.awaited_items, other.awaited_step)) {
                other.phase = StreamPhase::ready;
                state_.ranks[r].blocked &= ~(std::uint64_t{1} << s);
                ready_.push_back(state_.stream_of(r, s));
            }
        }
    }
    const TapeStream& tape = *stream.tape;
    const bool read_by_host = stream.item == tape.host_items;
    if (stream.item < tape.items.size()) {
        stream.phase = StreamPhase::ready;
        ready_.push_back(id);
    } else {
        parts_.runs.end_stream(id);
    }
    if (read_by_host) {
        parts_.runs.end_host_read(id, now);
    }
}

}  // namespace orrery
