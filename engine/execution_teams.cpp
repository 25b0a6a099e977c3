// SPDX-License-Identifier: Apache-2.0
// The part of Execution (engine/execution.h) that runs teams (engine/teams.h). While a team is
// together its first member, the *leader*, has the only state and the only events; each member
// still has its own channels and transfers. Ends of the members' parts are counted within the
// instant: if all of them come, and with equal paths, the leader goes on for all. If not, the team
// *parts* before time moves on: those to whom it happened go on with a copy of the leader's state.
// They *join* again after a collective on which the team met, once nothing that can still matter
// differs.
// Nothing is approximated: in an instant no order of ends matters (rule 7 of engine/simulation.h).
#include <algorithm>
#include <bit>
#include <utility>

#include "engine/check.h"
#include "engine/execution.h"

namespace orrery {

namespace {

bool same_path(const CauseTimes& a, const CauseTimes& b) {
    return std::memcmp(&a, &b, sizeof(CauseTimes)) == 0;
}

}  // namespace

void Execution::set_up_teams() {
    leader_.resize(ranks_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        leader_[r] = r;
        ranks_[r].led = std::uint64_t{1} << teams_.place[r];
    }
    for (std::uint32_t t = 0; t < teams_.teams.size(); ++t) {
        const std::span<const std::uint32_t> members = teams_.members_of(teams_.teams[t]);
        if (teams_.teams[t].channel != UINT32_MAX) {
            channels_[teams_.teams[t].channel].meets = t;
        }
        for (const std::uint32_t m : members.subspan(1)) {
            channels_[teams_.teams[t].channel].team = t;
            join(members.front(), m);
        }
        begin_own_time(members.front());
        touched_.push_back(members.front());
    }
}

// --- ends ---

void Execution::end_part_of_team(std::uint32_t id, std::uint32_t t, Time now) {
    const std::uint32_t ours = leading(id);
    StreamState& stream = streams_[ours];
    lone_ends_.push_back({.stream = id, .transfer = t, .item = stream.item});
    const OpenTransfer& transfer = pool_[t];
    if (stream.ends_seen == 0) {
        stream.transfer = t;
        // Of several parts of an op each member may have had another one.
        stream.ends_differ = item_of(ours).num_parts != 1;
    } else if (stream.transfer != t) {
        const OpenTransfer& first = pool_[stream.transfer];
        stream.ends_differ = stream.ends_differ || first.data_start != transfer.data_start ||
                             transfers_.messages[first.message].alone !=
                                 transfers_.messages[transfer.message].alone ||
                             !same_path(first.arrival.path, transfer.arrival.path);
    }
    if (++stream.ends_seen == ranks_[stream.rank].width && !stream.ends_differ) {
        stream.ends_seen = 0;
        end_part(ours, transfer, now);
    }
}

// Ends that not all members of a team have had. True if there were any.
bool Execution::part_teams(Time now) {
    if (lone_ends_.empty()) {
        return false;
    }
    // What all members have had is done with.
    std::erase_if(lone_ends_, [&](const LoneEnd& end) {
        const StreamState& stream = streams_[leading(end.stream)];
        return stream.ends_seen == 0 || stream.item != end.item;
    });
    if (lone_ends_.empty()) {
        return false;
    }
    // Those whose parts ended leave the others together, if the same happened to them.
    for (const LoneEnd& end : lone_ends_) {
        const StreamState& stream = streams_[leading(end.stream)];
        RankState& leader = ranks_[stream.rank];
        const std::uint64_t place = std::uint64_t{1} << teams_.place[member_of(end.stream)];
        // The ends of another stream name somebody again, or fall short of this one's.
        leader.leave_alone =
            leader.leave_alone || stream.ends_differ || (leader.leaving & place) != 0;
        leader.leaving |= place;
    }
    for (const LoneEnd& end : lone_ends_) {
        const StreamState& stream = streams_[leading(end.stream)];
        RankState& leader = ranks_[stream.rank];
        if (leader.leaving == 0) {
            continue;  // parted already
        }
        touch(stream.rank, now);
        const auto count = static_cast<std::uint32_t>(std::popcount(leader.leaving));
        const std::uint64_t leaving = std::exchange(leader.leaving, 0);
        const bool alone = std::exchange(leader.leave_alone, false);
        if (alone || count != stream.ends_seen || leaving == leader.led) {
            part_all(stream.rank);
        } else {
            part(stream.rank, leaving);
        }
    }
    for (const LoneEnd& end : lone_ends_) {
        if (!follows(member_of(end.stream))) {
            end_part(end.stream, pool_[end.transfer], now);
        }
    }
    lone_ends_.clear();
    drain(now);
    return true;
}

// --- parting ---

// Some of the ranks that the leader stands for (`leaving`, a mask) go on together on their own.
void Execution::part(std::uint32_t leader, std::uint64_t leaving) {
    ORRERY_CHECK(ready_.empty());  // a stream that is ready is on that list, not in its state
    // The lowest of each side leads it; the old leader stays where it is.
    const std::uint64_t old_side = std::uint64_t{1} << teams_.place[leader];
    const std::uint64_t moving =
        (leaving & old_side) != 0 ? ranks_[leader].led & ~leaving : leaving;
    end_own_time(leader);
    const Team& team = teams_.teams[teams_.team_of[leader]];
    const std::uint32_t first =
        teams_.members_of(team)[static_cast<std::size_t>(std::countr_zero(moving))];
    const Time offset = ranks_[first].kernel_time;
    copy_state(leader, first);
    ranks_[first].kernel_time += offset;
    ranks_[first].led = moving;
    ranks_[leader].led &= ~moving;
    for (const std::uint32_t one : {leader, first}) {
        ranks_[one].width = static_cast<std::uint32_t>(std::popcount(ranks_[one].led));
        count_sizes(one);
    }
    for_each_led(first, [&](std::uint32_t m) {
        leader_[m] = first;
        ranks_[m].kernel_time -= m == first ? Time{} : offset;
    });
}

void Execution::part_all(std::uint32_t leader) {
    while (ranks_[leader].width > 1) {
        const std::uint64_t own = std::uint64_t{1} << teams_.place[leader];
        const std::uint64_t others = ranks_[leader].led & ~own;
        part(leader, others & ~(others - 1));
    }
}

void Execution::copy_state(std::uint32_t from, std::uint32_t to) {
    ranks_[to] = ranks_[from];
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        const std::uint32_t id = stream_of(to, s);
        StreamState& stream = streams_[id];
        const StreamState& model = streams_[stream_of(from, s)];
        const std::uint32_t generation = stream.generation;
        const Time queued = stream.queued;
        const std::uint32_t first_channel = stream.first_channel;
        stream = model;
        stream.generation = generation;
        stream.queued = queued;
        stream.first_channel = first_channel;
        stream.rank = to;
        if (!walks_.empty() && walks_[stream_of(from, s)].run != nullptr) {
            walks_[id] = walks_[stream_of(from, s)];
        }
        if (stream.phase == StreamPhase::running || stream.phase == StreamPhase::launching) {
            schedule(id, stream.due);
        }
    }
}

void Execution::count_sizes(std::uint32_t leader) {
    std::uint32_t size = 0;
    for_each_led(leader, [&](std::uint32_t m) { size += quotient_.ranks[m].size; });
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        streams_[stream_of(leader, s)].size = size;
        streams_[stream_of(leader, s)].ends_seen = 0;
    }
}

// Followers' results at the end of the run.
void Execution::leave_leaders() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        part_all(leader_[r]);
    }
}

// --- joining ---

void Execution::join_teams(Time now) {
    for (const std::uint32_t t : meetings_) {
        const std::span<const std::uint32_t> members = teams_.members_of(teams_.teams[t]);
        for (std::size_t i = 1; i < members.size(); ++i) {
            for (std::size_t k = 0; k < i && !follows(members[i]); ++k) {
                if (!follows(members[k]) && alike(members[k], members[i], now)) {
                    join(members[k], members[i]);
                }
            }
        }
        begin_own_time(leader_[members.front()]);
    }
    meetings_.clear();
}

// Both lead; all that the second one stands for follow the first.
void Execution::join(std::uint32_t leader, std::uint32_t joining) {
    const Time lost = ranks_[joining].kernel_time;
    for_each_led(joining, [&](std::uint32_t m) {
        leader_[m] = leader;
        ranks_[m].kernel_time += (m == joining ? Time{} : lost) - ranks_[leader].kernel_time;
    });
    ranks_[leader].led |= ranks_[joining].led;
    ranks_[leader].width += ranks_[joining].width;
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        StreamState& left = streams_[stream_of(joining, s)];
        StreamState& stream = streams_[stream_of(leader, s)];
        left.phase = StreamPhase::done;  // on its own
        stream.size += left.size;
        if (stream.phase == StreamPhase::arrived && last_step(leader)) {
            busy_[item_of(stream_of(leader, s)).cause] +=
                (stream.start - left.start) * static_cast<std::int64_t>(left.size);
        }
        if (!walks_.empty()) {
            walks_[stream_of(joining, s)].run = nullptr;
        }
    }
}

// Will these two do the same from here on, as long as their transfers do? Compares all that is read
// again: a path that is over matters no more unless something can still continue it at this
// instant.
bool Execution::alike(std::uint32_t a, std::uint32_t b, Time now) const {
    const RankState& one = ranks_[a];
    const RankState& two = ranks_[b];
    if (one.held_sms != two.held_sms || one.step != two.step ||
        one.streams_left != two.streams_left || one.host_start != two.host_start ||
        !same_path(one.host_path, two.host_path)) {
        return false;
    }
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        const StreamState& x = streams_[stream_of(a, s)];
        const StreamState& y = streams_[stream_of(b, s)];
        if (x.item != y.item || x.phase != y.phase) {
            return false;
        }
        bool path_matters = x.ended == now;
        bool same = (x.ended == now) == (y.ended == now);
        switch (x.phase) {
            case StreamPhase::blocked:
                same = same && x.awaited_stream == y.awaited_stream &&
                       x.awaited_items == y.awaited_items;
                break;
            case StreamPhase::arrived:
                same = same && x.parts_left == y.parts_left && x.last_end == y.last_end &&
                       (x.start == y.start ||
                        (start_is_past(stream_of(a, s)) && start_is_past(stream_of(b, s))));
                path_matters = path_matters || x.last_end >= Time{};
                break;
            case StreamPhase::launching:
                same = same && x.due == y.due;
                break;
            case StreamPhase::running:
            case StreamPhase::promised:
                same = same && x.due == y.due && x.start == y.start &&
                       (x.phase != StreamPhase::promised || x.transfer == y.transfer) &&
                       walk_alike(stream_of(a, s), stream_of(b, s));
                path_matters = true;
                break;
            default:
                break;
        }
        if (!same || (path_matters && !same_path(x.path, y.path))) {
            return false;
        }
    }
    return true;
}

// A waiter of an arrived op asks when it arrived only to keep a promise, and promises are made to
// fixed messages only. What is left is the sum of busy times, which join() makes good.
bool Execution::start_is_past(std::uint32_t id) const {
    const TapeItem& item = item_of(id);
    const RoleTape& tape = tape_of(rank_of(id));
    for (std::uint32_t p = item.first_part; p < item.first_part + item.num_parts; ++p) {
        const TapePart& part = tape.parts[p];
        const ChannelState& channel =
            channels_[quotient_.channel_of[streams_[id].first_channel + part.channel]];
        if (transfers_.messages[channel.first_message + part.message].fixed) {
            return false;
        }
    }
    return true;
}

bool Execution::walk_alike(std::uint32_t a, std::uint32_t b) const {
    if (walks_.empty() || (walks_[a].run == nullptr && walks_[b].run == nullptr)) {
        return true;
    }
    const RunWalk& x = walks_[a];
    const RunWalk& y = walks_[b];
    return x.run == y.run && x.op == y.op && x.begin == y.begin && x.since == y.since &&
           x.work_left == y.work_left && x.kernel_time == y.kernel_time && x.stretch == y.stretch &&
           x.first_op == y.first_op && x.launch_bound == y.launch_bound &&
           x.path_stretch == y.path_stretch;
}

}  // namespace orrery
