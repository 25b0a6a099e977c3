// SPDX-License-Identifier: Apache-2.0
// The state of all rank classes and of their streams. Nothing is kept of what has ended but the
// last end of each stream and the path to it: waits ask how many items a stream has ended.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/prefetch.h"
#include "engine/program/critical_path.h"
#include "engine/world/execution_plan.h"

namespace orrery {

enum class StreamPhase : std::uint8_t {
    ready,      // its next item is to be looked at
    blocked,    // waits on another stream
    launching,  // a communication op whose launch lies ahead
    running,    // a run
    arrived,    // a communication op
    in_group,   // a collective of a lockstep group on its local clock
    done,       // with the step
    lost,       // with its rank
};

// What other streams ask for lies on its first half of a cache line.
struct alignas(32) StreamState {
    Time ended;                       // the last item's end
    std::uint32_t item = 0;           // the next or the one under way = items ended in its step
    std::uint32_t step = 0;           // of the run; no later than its rank's
    std::uint32_t awaited_items = 0;  // while blocked: how many ended items it waits for
    std::uint32_t awaited_step = 0;
    std::uint8_t awaited_stream = 0;  // of this stream, in awaited_step
    StreamPhase phase = StreamPhase::done;
    std::uint8_t stream = 0;         // its own number
    bool slows_kernels : 1 = false;  // would its ops' SMs be missing on other streams?
    bool traced : 1 = false;
    bool ends_differ : 1 = false;  // of ends_seen
    RankClassId rank{};            // class
    const TapeStream* tape = nullptr;
    Time start;                    // of the item under way
    Time due;                      // of its event
    Time queued = Time::max();     // when its event comes, no later than due; max: it has none
    std::uint32_t generation = 0;  // of its event that counts
    std::uint32_t size = 0;        // ranks of the class, or of all classes of a lockstep group
    Time last_end;                 // of an arrived op's parts
    // In a leader: the first of ends_seen that ended.
    OpenTransferId transfer{};
    std::uint16_t ends_seen = 0;   // members of the group whose part has ended at this instant
    std::uint16_t held_sms = 0;    // while arrived
    std::uint32_t parts_left = 0;  // of an arrived op
    std::uint32_t first_connection = 0;  // of the rank, in Quotient::connection_of
    PathTimes path;                   // to `ended`; of an arrived op to its last part that ended

    bool has_ended(std::uint32_t items, std::uint32_t in_step) const {
        return step == in_step ? item >= items : step > in_step;
    }
};
static_assert(offsetof(StreamState, tape) == 32);
static_assert(sizeof(StreamState) == 224);  // 12,288 ranks have 98,304 of them

// The last of the ends of several streams; at one instant that of the lowest stream.
struct LastEnd {
    Time time = Time::picoseconds(-1);
    std::uint32_t stream = 0;
    PathTimes path;

    void offer(const StreamState& ended) {
        if (ended.ended > time || (ended.ended == time && ended.stream < stream)) {
            time = ended.ended;
            stream = ended.stream;
            path = ended.path;
        }
    }
    void clear() { time = Time::picoseconds(-1); }
    // The path means nothing while no stream has ended.
    void copy(const LastEnd& other) {
        time = other.time;
        stream = other.stream;
        if (time >= Time{}) {
            path = other.path;
        }
    }
};

// The ends of the last step that the host has begun.
struct StepEnds {
    LastEnd last;  // of the streams that are done with the step
    LastEnd read;  // of the ops that the host waits for
};

// A step that some streams of a rank are still in while its host has begun a later one.
struct OlderStep {
    std::uint32_t step = 0;
    std::uint32_t streams_left = 0;
    Time entered;
    Time host_start;
    PathTimes host_path;
    LastEnd last_end;
};

// What every event asks for lies on the first cache line. `step`, and what belongs to a step, is of
// the last one that the host has begun.
struct alignas(64) RankState {
    const RoleTape* tape = nullptr;
    Time host_start;
    std::uint32_t role = 0;
    std::uint16_t device = 0;
    bool lost : 1 = false;
    bool in_last_step : 1 = false;  // of its party's run
    bool local_clock = false;       // of a leader: its streams have no events (local_clocks.h)
    std::uint32_t width = 1;        // of a leader: how many classes it stands for
    std::uint32_t held_sms = 0;
    std::uint64_t running = 0;  // bit s: stream s is in a run
    std::uint64_t blocked = 0;  // bit s: stream s is blocked
    // In a leader with a local clock:
    std::uint64_t pending = 0;  // bit s: what stream s does ends when it is due
    std::uint32_t wake_generation = 0;
    std::uint32_t step = 0;     // of the run
    Time entered;               // when the host had read all of the step before
    Time wake = Time::max();    // when its event comes
    Time kernel_time;           // in last steps; of a follower: less what its leader has
    std::uint64_t led = 1;      // of a leader: which, by place in the group
    std::uint64_t leaving = 0;  // of a leader: which of these go on without the others
    bool leave_singly = false;  // of a leader: those do not even go on together
    std::uint32_t streams_left = 0;
    std::uint32_t host_reads_left = 0;  // streams that the host waits for
    Time end_seen = Time::picoseconds(-1);  // the latest of RankStates::step_ends
    PathTimes host_path;                    // to host_start
};
static_assert(sizeof(RankState) == 256);

class RankStates {
public:
    explicit RankStates(const ExecutionPlan& plan);

    RankClassId rank_of(RankStreamId id) const { return streams[id].rank; }
    RankStreamId stream_of(RankClassId r, std::uint32_t s) const {
        return to_id<RankStreamId>((index(r) << stream_bits) + s);
    }
    const RoleTape& tape_of(RankClassId r) const { return *ranks[r].tape; }
    const TapeItem& item_of(RankStreamId id) const {
        return streams[id].tape->items[streams[id].item];
    }
    // Whether the stream works on the last step of its party's run.
    bool in_last_step(RankStreamId id) const {
        return ranks[rank_of(id)].in_last_step && in_newest_step(id);
    }
    // Whether the condition on an item of `other` holds in `step`. A carried one always holds in
    // the first step.
    bool holds(const ItemCondition& condition, const StreamState& other, std::uint32_t step) const {
        return condition.carried ? step == 0 || other.has_ended(condition.items, step - 1)
                                 : other.has_ended(condition.items, step);
    }
    std::uint32_t job_of(RankClassId r) const { return plan_.job_of_role[ranks[r].role]; }

    // Over all steps of a run: of the connection's messages.
    std::uint32_t sequence_of(RankStreamId id, const TapePart& part) const {
        return streams[id].step *
                   tape_of(rank_of(id)).connections[part.connection].messages_per_step +
               part.sequence;
    }
    // A stream has ended what `of`, of its rank's step_ends, is the last of.
    void offer_end(LastEnd& of, const StreamState& stream) {
        of.offer(stream);
        ranks[stream.rank].end_seen = std::max(ranks[stream.rank].end_seen, stream.ended);
    }
    void clear_ends(RankClassId r) {
        ranks[r].end_seen = Time::picoseconds(-1);
        step_ends[r].last.clear();
        step_ends[r].read.clear();
    }
    // Is the stream in the step that its host began last?
    bool in_newest_step(RankStreamId id) const {
        return streams[id].step == ranks[rank_of(id)].step;
    }
    // When the rank entered the stream's step.
    Time entered(RankStreamId id) const {
        return in_newest_step(id) ? ranks[rank_of(id)].entered : older_step(id).entered;
    }
    const PathTimes& host_path(RankStreamId id) const {
        return in_newest_step(id) ? ranks[rank_of(id)].host_path : older_step(id).host_path;
    }
    Time launch_of(RankStreamId id, const TapeItem& item) const {
        const Time start =
            in_newest_step(id) ? ranks[rank_of(id)].host_start : older_step(id).host_start;
        return start + item.launch;
    }
    PathTimes launch_path(RankStreamId id, const TapeItem& item) const {
        PathTimes path = host_path(id);
        path[Cause::launch] += item.launch;
        return path;
    }
    // The step of a stream that its host has left behind.
    const OlderStep& older_step(RankStreamId id) const {
        const std::vector<OlderStep>& all = older_steps[rank_of(id)];
        return *std::ranges::find(all, streams[id].step, &OlderStep::step);
    }

    // --- followers and their leaders (engine/world/lockstep.h) ---
    bool follows(RankClassId r) const { return leader[r] != r; }
    // The rank class of a stream that may be a follower's. The state of a follower's stream is in
    // memory that was not used lately, so the number tells.
    RankClassId member_of(RankStreamId id) const {
        return to_id<RankClassId>(index(id) >> stream_bits);
    }
    // The stream whose state counts for a member's.
    RankStreamId leading(RankStreamId id) const {
        const RankClassId r = member_of(id);
        return stream_of(leader[r],
                         static_cast<std::uint32_t>(index(id) - (index(r) << stream_bits)));
    }
    // Calls f with each rank class that a leader stands for, in ascending order.
    template <class F>
    void for_each_led(RankClassId r, F f) const {
        const LockstepGroups& all = plan_.groups;
        const RankClassId* members = &all.members[all.groups[all.group_of[r]].first];
        for (std::uint64_t left = ranks[r].led; left != 0; left &= left - 1) {
            f(members[std::countr_zero(left)]);
        }
    }
    // Calls f with each stream of a rank that has a run under way.
    template <class F>
    void for_each_run(RankClassId r, F f) const {
        for (std::uint64_t left = ranks[r].running; left != 0; left &= left - 1) {
            f(stream_of(r, static_cast<std::uint32_t>(std::countr_zero(left))));
        }
    }

    void prefetch_rank(RankClassId r) const {
        prefetch_all(&ranks[r], offsetof(RankState, host_path));
    }

    std::uint32_t num_streams;         // of a rank
    std::uint32_t stream_bits;         // of a stream's number in its position in `streams`
    Table<RankStreamId, StreamState> streams;  // rank class by rank class
    Table<RankClassId, RankState> ranks;
    Table<RankClassId, StepEnds> step_ends;
    Table<RankClassId, std::vector<OlderStep>> older_steps;  // by rank class; empty if none overlap
    Table<RankStreamId, RunWalk> walks;      // by stream; empty if no run is ever walked
    Table<RankClassId, RankClassId> leader;  // by rank class: whose state counts for it

private:
    void set_up_stream(RankClassId r, std::uint32_t s);

    const ExecutionPlan& plan_;
};

}  // namespace orrery
