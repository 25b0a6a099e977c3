// SPDX-License-Identifier: Apache-2.0
// The state of all rank classes and their streams. Of the past it keeps only the last end of each
// stream and the path to it: a wait asks for the number of items that a stream has ended.
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
    ready,      // its next item must be examined
    blocked,    // waits on another stream
    launching,  // a communication op before its launch
    queueing,   // a communication op that waits for SMs
    running,    // in a run
    arrived,    // in a communication op
    in_group,   // in a collective of a lockstep group on its local clock
    done,       // has ended its step
    lost,       // its rank is lost
};

// The members that other streams read are in the first half of a cache line.
struct alignas(32) StreamState {
    Time ended;              // end of the last item
    std::uint32_t item = 0;  // the next or current item = number of items ended in its step
    std::uint32_t step = 0;  // step of the run; not after its rank's
    std::uint32_t awaited_items = 0;  // while blocked: the number of ended items that it waits for
    std::uint32_t awaited_step = 0;
    std::uint8_t awaited_stream = 0;  // the stream that it waits for, in awaited_step
    StreamPhase phase = StreamPhase::done;
    std::uint8_t stream = 0;         // its own index
    bool slows_kernels : 1 = false;  // the SMs of its ops slow kernels on other streams
    bool traced : 1 = false;
    bool ends_differ : 1 = false;  // the ends counted in ends_seen differ
    bool all_launched : 1 = false;  // while running: `path` leads to the last launch waited for
    RankClassId rank{};             // its rank class
    const TapeStream* tape = nullptr;
    Time start;                    // of the current item; while queueing: when it asked for SMs
    Time due;                      // end of the current item
    Time queued = Time::max();     // time of its queued event, not after `due`; max: none
    std::uint32_t generation = 0;  // of its valid event
    std::uint32_t size = 0;        // number of ranks of the class, or of all classes that it leads
    Time last_end;                 // latest end of an arrived op's parts
    // In a leader: the first transfer counted in ends_seen.
    OpenTransferId transfer{};
    std::uint16_t ends_seen = 0;   // members of the group whose part has ended at this instant
    std::uint16_t held_sms = 0;    // while arrived
    std::uint32_t parts_left = 0;  // of an arrived op
    std::uint32_t first_connection = 0;  // index into Quotient::connection_of, of the rank
    PathTimes path;                      // to `ended`; of an arrived op to its last ended part

    bool has_ended(std::uint32_t items, std::uint32_t in_step) const {
        return step == in_step ? item >= items : step > in_step;
    }
};
static_assert(offsetof(StreamState, tape) == 32);
static_assert(sizeof(StreamState) == 224);  // 12,288 ranks have 98,304 of them

// The latest end of several streams; at equal times, of the lowest stream.
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
    // Before the first end the path has no meaning.
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
    LastEnd last;  // of the streams that have ended the step
    LastEnd read;  // of the ops that the host waits for
};

// A step that the host has left behind while some streams of the rank are still in it.
struct OlderStep {
    std::uint32_t step = 0;
    std::uint32_t streams_left = 0;
    Time entered;
    Time host_start;
    PathTimes host_path;
    LastEnd last_end;
};

// The members that every event reads are on the first cache line. `step` and all members that
// belong to a step refer to the last step that the host has begun.
struct alignas(64) RankState {
    const RoleTape* tape = nullptr;
    Time host_start;
    std::uint32_t role = 0;
    std::uint16_t device = 0;
    bool lost : 1 = false;
    bool in_last_step : 1 = false;  // of its party's run
    bool local_clock = false;       // of a leader: its streams have no events (local_clocks.h)
    std::uint32_t width = 1;        // of a leader: the number of classes that it leads
    std::uint32_t held_sms = 0;
    std::uint64_t running = 0;  // bit s: stream s is in a run
    std::uint64_t blocked = 0;  // bit s: stream s is blocked
    // In a leader with a local clock:
    std::uint64_t pending = 0;  // bit s: the current item of stream s ends at its `due`
    std::uint32_t wake_generation = 0;
    std::uint32_t step = 0;     // of the run
    Time entered;               // when the host had read all results of the step before
    Time wake = Time::max();    // time of its event
    Time kernel_time;           // in last steps; of a follower relative to its leader's
    std::uint64_t led = 1;  // of a leader: mask of the classes that it leads, by place in the group
    std::uint64_t leaving = 0;  // of a leader: mask of the classes that separate
    bool leave_singly = false;  // of a leader: these classes also separate from each other
    std::uint32_t streams_left = 0;
    std::uint32_t host_reads_left = 0;      // streams whose results the host still waits for
    Time end_seen = Time::picoseconds(-1);  // the latest time in RankStates::step_ends
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
    // Whether the stream is in the last step of its party's run.
    bool in_last_step(RankStreamId id) const {
        return ranks[rank_of(id)].in_last_step && in_newest_step(id);
    }
    // Whether the condition on an item of `other` holds in `step`. A carried condition always holds
    // in the first step.
    bool holds(const ItemCondition& condition, const StreamState& other, std::uint32_t step) const {
        return condition.carried ? step == 0 || other.has_ended(condition.items, step - 1)
                                 : other.has_ended(condition.items, step);
    }
    std::uint32_t job_of(RankClassId r) const { return plan_.job_of_role[ranks[r].role]; }

    // The number of this message among all messages of its connection in the run.
    std::uint32_t sequence_of(RankStreamId id, const TapePart& part) const {
        return streams[id].step *
                   tape_of(rank_of(id)).connections[part.connection].messages_per_step +
               part.sequence;
    }
    // Offers the end of `stream` to `of`, an entry of its rank's step_ends.
    void offer_end(LastEnd& of, const StreamState& stream) {
        of.offer(stream);
        ranks[stream.rank].end_seen = std::max(ranks[stream.rank].end_seen, stream.ended);
    }
    void clear_ends(RankClassId r) {
        ranks[r].end_seen = Time::picoseconds(-1);
        step_ends[r].last.clear();
        step_ends[r].read.clear();
    }
    // Whether the stream is in the last step that its host has begun.
    bool in_newest_step(RankStreamId id) const {
        return streams[id].step == ranks[rank_of(id)].step;
    }
    // The time at which the rank entered the stream's step.
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
    // The step of a stream whose host has begun a later one.
    const OlderStep& older_step(RankStreamId id) const {
        const std::vector<OlderStep>& all = older_steps[rank_of(id)];
        return *std::ranges::find(all, streams[id].step, &OlderStep::step);
    }

    // --- followers and their leaders (engine/world/lockstep.h) ---
    bool follows(RankClassId r) const { return leader[r] != r; }
    // The rank class of a stream, also of a follower's. It computes the class from the id, because
    // a follower's state is not in the cache.
    RankClassId member_of(RankStreamId id) const {
        return to_id<RankClassId>(index(id) >> stream_bits);
    }
    // The leader's stream that represents a member's stream.
    RankStreamId leading(RankStreamId id) const {
        const RankClassId r = member_of(id);
        return stream_of(leader[r],
                         static_cast<std::uint32_t>(index(id) - (index(r) << stream_bits)));
    }
    // Calls f with each rank class of a leader, in ascending order.
    template <class F>
    void for_each_led(RankClassId r, F f) const {
        const LockstepGroups& all = plan_.groups;
        const RankClassId* members = &all.members[all.groups[all.group_of[r]].first];
        for (std::uint64_t left = ranks[r].led; left != 0; left &= left - 1) {
            f(members[std::countr_zero(left)]);
        }
    }
    // Calls f with each stream of the rank that is in a run.
    template <class F>
    void for_each_run(RankClassId r, F f) const {
        for (std::uint64_t left = ranks[r].running; left != 0; left &= left - 1) {
            f(stream_of(r, static_cast<std::uint32_t>(std::countr_zero(left))));
        }
    }

    void prefetch_rank(RankClassId r) const {
        prefetch_all(&ranks[r], offsetof(RankState, host_path));
    }

    std::uint32_t num_streams;  // of each rank
    std::uint32_t stream_bits;  // bits of a RankStreamId that hold the stream's index
    Table<RankStreamId, StreamState> streams;  // rank class by rank class
    Table<RankClassId, RankState> ranks;
    Table<RankClassId, StepEnds> step_ends;
    Table<RankClassId, std::vector<OlderStep>> older_steps;  // by rank class; empty if none overlap
    Table<RankStreamId, RunWalk> walks;      // by stream; empty if no run is ever walked
    Table<RankClassId, RankClassId> leader;  // by rank class: the class whose state represents it

private:
    void set_up_stream(RankClassId r, std::uint32_t s);

    const ExecutionPlan& plan_;
};

}  // namespace orrery
