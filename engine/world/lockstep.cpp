// SPDX-License-Identifier: Apache-2.0
#include "engine/world/lockstep.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/check.h"
#include "engine/world/execution.h"

namespace orrery {

void Lockstep::form_all() {
    for (const LockstepGroupId t : plan_.groups.groups.ids()) {
        const std::span<const RankClassId> members = plan_.members_of_group(t);
        if (plan_.groups.groups[t].connection != kNoMeeting) {
            open_.connections[plan_.groups.groups[t].connection].group = t;
        }
        for (const RankClassId m : members.subspan(1)) {
            unite(members.front(), m);
        }
        parts_.clocks.begin(members.front());
    }
}

void Lockstep::end_part(RankStreamId id, OpenTransferId t, Time now) {
    const RankStreamId ours = state_.leading(id);
    StreamState& stream = state_.streams[ours];
    single_ends_.push_back({.stream = id, .transfer = t, .item = stream.item});
    const OpenTransfer& transfer = open_.pool[t];
    if (stream.ends_seen == 0) {
        stream.transfer = t;
        // The members may have ended different parts of the op.
        stream.ends_differ = state_.item_of(ours).num_parts != 1;
    } else if (stream.transfer != t) {
        const OpenTransfer& first = open_.pool[stream.transfer];
        stream.ends_differ = stream.ends_differ || first.data_start() != transfer.data_start() ||
                             plan_.transfers.messages[first.message].uncontended_time !=
                                 plan_.transfers.messages[transfer.message].uncontended_time ||
                             !(first.arrival.path == transfer.arrival.path);
    }
    if (++stream.ends_seen == state_.ranks[stream.rank].width && !stream.ends_differ) {
        stream.ends_seen = 0;
        parts_.transfers.end_part(ours, transfer, now);
    }
}

bool Lockstep::separate_different(Time now) {
    if (single_ends_.empty()) {
        return false;
    }
    // Drops ends that all members have had: the leader has handled them.
    std::erase_if(single_ends_, [&](const SingleEnd& end) {
        const StreamState& stream = state_.streams[state_.leading(end.stream)];
        return stream.ends_seen == 0 || stream.item != end.item;
    });
    if (single_ends_.empty()) {
        return false;
    }
    // Members whose parts ended leave together, if the same part ended for all of them.
    for (const SingleEnd& end : single_ends_) {
        const StreamState& stream = state_.streams[state_.leading(end.stream)];
        RankState& leader = state_.ranks[stream.rank];
        const std::uint64_t place = std::uint64_t{1}
                                    << plan_.groups.place[state_.member_of(end.stream)];
        // True if an end belongs to another stream of a member already marked, or if the ends
        // differ.
        leader.leave_singly =
            leader.leave_singly || stream.ends_differ || (leader.leaving & place) != 0;
        leader.leaving |= place;
    }
    for (const SingleEnd& end : single_ends_) {
        const StreamState& stream = state_.streams[state_.leading(end.stream)];
        RankState& leader = state_.ranks[stream.rank];
        if (leader.leaving == 0) {
            continue;  // separated already
        }
        parts_.clocks.catch_up_before(stream.rank, now);
        const auto count = static_cast<std::uint32_t>(std::popcount(leader.leaving));
        const std::uint64_t leaving = std::exchange(leader.leaving, 0);
        const bool alone = std::exchange(leader.leave_singly, false);
        if (alone || count != stream.ends_seen || leaving == leader.led) {
            separate_all(stream.rank);
        } else {
            separate(stream.rank, leaving);
        }
    }
    for (const SingleEnd& end : single_ends_) {
        if (!state_.follows(state_.member_of(end.stream))) {
            parts_.transfers.end_part(end.stream, open_.pool[end.transfer], now);
        }
    }
    single_ends_.clear();
    parts_.streams.process_ready(now);
    return true;
}

// Separates the members in `leaving` (a mask of places) from the leader's group; they stay
// together.
void Lockstep::separate(RankClassId leader, std::uint64_t leaving) {
    // A ready stream is in the runner's list and would not be copied.
    ORRERY_CHECK(parts_.streams.num_ready() == 0);
    // The lowest member of each side leads it; the old leader keeps its state.
    const std::uint64_t old_side = std::uint64_t{1} << plan_.groups.place[leader];
    const std::uint64_t moving =
        (leaving & old_side) != 0 ? state_.ranks[leader].led & ~leaving : leaving;
    parts_.clocks.end(leader);
    const RankClassId first = plan_.members_of_group(
        plan_.groups.group_of[leader])[static_cast<std::size_t>(std::countr_zero(moving))];
    const Time offset = state_.ranks[first].kernel_time;
    copy_state(leader, first);
    state_.ranks[first].kernel_time += offset;
    state_.ranks[first].led = moving;
    state_.ranks[leader].led &= ~moving;
    for (const RankClassId one : {leader, first}) {
        state_.ranks[one].width = static_cast<std::uint32_t>(std::popcount(state_.ranks[one].led));
        count_sizes(one);
    }
    state_.for_each_led(first, [&](RankClassId m) {
        state_.leader[m] = first;
        state_.ranks[m].kernel_time -= m == first ? Time{} : offset;
    });
}

void Lockstep::separate_all(RankClassId leader) {
    while (state_.ranks[leader].width > 1) {
        const std::uint64_t own = std::uint64_t{1} << plan_.groups.place[leader];
        const std::uint64_t others = state_.ranks[leader].led & ~own;
        separate(leader, others & ~(others - 1));
    }
}

void Lockstep::copy_state(RankClassId from, RankClassId to) {
    state_.ranks[to] = state_.ranks[from];
    state_.step_ends[to].last.copy(state_.step_ends[from].last);
    state_.step_ends[to].read.copy(state_.step_ends[from].read);
    if (!state_.older_steps.empty()) {
        state_.older_steps[to] = state_.older_steps[from];
    }
    for (std::uint32_t s = 0; s < state_.num_streams; ++s) {
        const RankStreamId id = state_.stream_of(to, s);
        StreamState& stream = state_.streams[id];
        const StreamState& model = state_.streams[state_.stream_of(from, s)];
        const std::uint32_t generation = stream.generation;
        const Time queued = stream.queued;
        const std::uint32_t first_connection = stream.first_connection;
        stream = model;
        stream.generation = generation;
        stream.queued = queued;
        stream.first_connection = first_connection;
        stream.rank = to;
        if (!state_.walks.empty() && state_.walks[state_.stream_of(from, s)].run != nullptr) {
            state_.walks[id] = state_.walks[state_.stream_of(from, s)];
        }
        if (stream.phase == StreamPhase::running || stream.phase == StreamPhase::launching ||
            stream.phase == StreamPhase::queueing) {
            parts_.streams.schedule(id, stream.due);
        }
    }
}

void Lockstep::count_sizes(RankClassId leader) {
    std::uint32_t size = 0;
    state_.for_each_led(leader, [&](RankClassId m) { size += plan_.quotient.ranks[m].size; });
    for (std::uint32_t s = 0; s < state_.num_streams; ++s) {
        state_.streams[state_.stream_of(leader, s)].size = size;
        state_.streams[state_.stream_of(leader, s)].ends_seen = 0;
    }
}

void Lockstep::dissolve() {
    for (const RankClassId r : state_.ranks.ids()) {
        separate_all(state_.leader[r]);
    }
}

void Lockstep::reunite(Time now) {
    for (const LockstepGroupId t : meetings_) {
        const std::span<const RankClassId> members = plan_.members_of_group(t);
        for (std::size_t i = 1; i < members.size(); ++i) {
            for (std::size_t k = 0; k < i && !state_.follows(members[i]); ++k) {
                if (!state_.follows(members[k]) && alike(members[k], members[i], now)) {
                    unite(members[k], members[i]);
                }
            }
        }
        parts_.clocks.begin(state_.leader[members.front()]);
    }
    meetings_.clear();
}

// Both must be leaders. All rank classes of `joining` then follow `leader`.
void Lockstep::unite(RankClassId leader, RankClassId joining) {
    const Time lost = state_.ranks[joining].kernel_time;
    state_.for_each_led(joining, [&](RankClassId m) {
        state_.leader[m] = leader;
        state_.ranks[m].kernel_time +=
            (m == joining ? Time{} : lost) - state_.ranks[leader].kernel_time;
    });
    state_.ranks[leader].led |= state_.ranks[joining].led;
    state_.ranks[leader].width += state_.ranks[joining].width;
    for (std::uint32_t s = 0; s < state_.num_streams; ++s) {
        StreamState& left = state_.streams[state_.stream_of(joining, s)];
        StreamState& stream = state_.streams[state_.stream_of(leader, s)];
        left.phase = StreamPhase::done;  // its state is no longer used
        stream.size += left.size;
        const RankStreamId id = state_.stream_of(leader, s);
        if (stream.phase == StreamPhase::arrived && state_.in_last_step(id)) {
            log_.busy[state_.item_of(id).cause] +=
                (stream.start - left.start) * static_cast<std::int64_t>(left.size);
        }
        if (!state_.walks.empty()) {
            state_.walks[state_.stream_of(joining, s)].run = nullptr;
        }
    }
}

// Whether two leaders will do the same from now on if their transfers do. Compares all state that
// can still be read. A finished path matters only if an op can still continue it at this instant.
bool Lockstep::alike(RankClassId a, RankClassId b, Time now) const {
    if (state_.ranks[a].held_sms != state_.ranks[b].held_sms || !same_steps(a, b, now)) {
        return false;
    }
    for (std::uint32_t s = 0; s < state_.num_streams; ++s) {
        const StreamState& x = state_.streams[state_.stream_of(a, s)];
        const StreamState& y = state_.streams[state_.stream_of(b, s)];
        if (x.item != y.item || x.step != y.step || x.phase != y.phase) {
            return false;
        }
        bool path_matters = x.ended == now;
        bool same = (x.ended == now) == (y.ended == now);
        switch (x.phase) {
            case StreamPhase::blocked:
                same = same && x.awaited_stream == y.awaited_stream &&
                       x.awaited_items == y.awaited_items && x.awaited_step == y.awaited_step;
                break;
            case StreamPhase::arrived:
                // The arrival matters only to busy times, which unite() corrects, and to reports of
                // hangs.
                same = same && x.parts_left == y.parts_left && x.last_end == y.last_end &&
                       (x.start == y.start || plan_.input.events.empty());
                path_matters = path_matters || x.last_end >= Time{};
                break;
            case StreamPhase::launching:
                same = same && x.due == y.due;
                break;
            case StreamPhase::queueing:
                same = same && x.due == y.due && x.start == y.start;
                path_matters = true;
                break;
            case StreamPhase::running:
                same = same && x.due == y.due && x.start == y.start &&
                       x.all_launched == y.all_launched &&
                       walk_alike(state_.stream_of(a, s), state_.stream_of(b, s));
                path_matters = true;
                break;
            default:
                break;
        }
        if (!same || (path_matters && !(x.path == y.path))) {
            return false;
        }
    }
    return true;
}

namespace {

// Whether two last ends are equivalent. An end at this instant may still be the last of its step;
// earlier ends cannot.
bool same_end(const LastEnd& a, const LastEnd& b, Time now) {
    return (a.time == now) == (b.time == now) &&
           (a.time != now || (a.stream == b.stream && a.path == b.path));
}

}  // namespace

// Whether two leaders are in the same steps.
bool Lockstep::same_steps(RankClassId a, RankClassId b, Time now) const {
    const RankState& one = state_.ranks[a];
    const RankState& two = state_.ranks[b];
    if (one.step != two.step || one.streams_left != two.streams_left ||
        one.host_reads_left != two.host_reads_left ||
        (one.entered == now) != (two.entered == now) || one.host_start != two.host_start ||
        !(one.host_path == two.host_path)) {
        return false;
    }
    if ((one.end_seen == now || two.end_seen == now) &&
        (!same_end(state_.step_ends[a].last, state_.step_ends[b].last, now) ||
         !same_end(state_.step_ends[a].read, state_.step_ends[b].read, now))) {
        return false;
    }
    return state_.older_steps.empty() ||
           std::ranges::equal(state_.older_steps[a],
                              state_.older_steps[b],
                              [&](const OlderStep& x, const OlderStep& y) {
                                  return x.step == y.step && x.streams_left == y.streams_left &&
                                         (x.entered == now) == (y.entered == now) &&
                                         x.host_start == y.host_start &&
                                         x.host_path == y.host_path &&
                                         same_end(x.last_end, y.last_end, now);
                              });
}

bool Lockstep::walk_alike(RankStreamId a, RankStreamId b) const {
    if (state_.walks.empty() ||
        (state_.walks[a].run == nullptr && state_.walks[b].run == nullptr)) {
        return true;
    }
    const RunWalk& x = state_.walks[a];
    const RunWalk& y = state_.walks[b];
    return x.run == y.run && x.op == y.op && x.begin == y.begin && x.since == y.since &&
           x.work_left == y.work_left && x.kernel_time == y.kernel_time && x.stretch == y.stretch &&
           x.first_op == y.first_op && x.launch_bound == y.launch_bound &&
           x.path_stretch == y.path_stretch;
}

}  // namespace orrery
