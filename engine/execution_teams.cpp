// SPDX-License-Identifier: Apache-2.0
// The part of Execution (engine/execution.h) that runs teams (engine/teams.h). While a team is
// together its first member, the *leader*, has the only state and the only events; each member
// still has its own channels and transfers. Ends of the members' parts are counted within the
// instant: if all of them come, and with equal paths, the leader goes on for all. If not, the team
// *parts* before time moves on: every member gets a copy of the leader's state. It *joins* again
// after a collective on which all of it met, as soon as nothing that can still matter differs.
// Nothing is approximated: in an instant no order of ends matters (rule 7 of engine/simulation.h).
#include <algorithm>
#include <numeric>

#include "engine/check.h"
#include "engine/execution.h"

namespace orrery {

namespace {

bool same_path(const CauseTimes& a, const CauseTimes& b) {
    return std::memcmp(&a, &b, sizeof(CauseTimes)) == 0;
}

}  // namespace

void Execution::set_up_teams() {
    quotient_order_.resize(ranks_.size());
    std::iota(quotient_order_.begin(), quotient_order_.end(), 0u);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r].leader = r;
    }
    for (std::uint32_t t = 0; t < teams_.teams.size(); ++t) {
        const Team& team = teams_.teams[t];
        if (team.size > 1) {
            channels_[team.channel].team = t;
            join(team);
        }
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
    for (const LoneEnd& end : lone_ends_) {
        const std::uint32_t r = rank_of(end.stream);
        if (ranks_[ranks_[r].leader].width > 1) {
            part(teams_.teams[teams_.team_of[r]]);
        }
    }
    for (const LoneEnd& end : lone_ends_) {
        end_part(end.stream, pool_[end.transfer], now);
    }
    lone_ends_.clear();
    drain(now);
    return true;
}

// --- parting ---

void Execution::part(const Team& team) {
    ORRERY_CHECK(ready_.empty());  // a stream that is ready is on that list, not in its state
    const std::span<const std::uint32_t> members = teams_.members_of(team);
    const std::uint32_t leader = members.front();
    ranks_[leader].width = 1;
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        streams_[stream_of(leader, s)].size = quotient_.ranks[leader].size;
        streams_[stream_of(leader, s)].ends_seen = 0;
    }
    for (const std::uint32_t m : members.subspan(1)) {
        const Time own = ranks_[m].kernel_time;
        ranks_[m] = ranks_[leader];
        ranks_[m].leader = m;
        ranks_[m].kernel_time += own;
        for (std::uint32_t s = 0; s < num_streams_; ++s) {
            const std::uint32_t id = stream_of(m, s);
            const std::uint32_t from = stream_of(leader, s);
            StreamState& stream = streams_[id];
            const std::uint32_t generation = stream.generation;
            stream = streams_[from];
            stream.generation = generation;
            stream.rank = m;
            stream.size = quotient_.ranks[m].size;
            stream.first_channel = quotient_.ranks[m].first_channel;
            if (!walks_.empty() && walks_[from].run != nullptr) {
                walks_[id] = walks_[from];
            }
            if (stream.phase == StreamPhase::running || stream.phase == StreamPhase::launching) {
                schedule(id, stream.due);
            }
        }
    }
}

// Followers' results at the end of the run.
void Execution::leave_leaders() {
    for (const Team& team : teams_.teams) {
        if (ranks_[teams_.members[team.first]].width > 1) {
            part(team);
        }
    }
}

// --- joining ---

void Execution::join_teams(Time now) {
    for (const std::uint32_t t : meetings_) {
        const Team& team = teams_.teams[t];
        const std::span<const std::uint32_t> members = teams_.members_of(team);
        const std::uint32_t first = members.front();
        const bool apart = ranks_[first].width == 1;
        if (apart && std::all_of(members.begin() + 1, members.end(), [&](std::uint32_t m) {
                return alike(first, m, now);
            })) {
            join(team);
        }
    }
    meetings_.clear();
}

void Execution::join(const Team& team) {
    const std::span<const std::uint32_t> members = teams_.members_of(team);
    const std::uint32_t leader = members.front();
    ranks_[leader].width = team.size;
    for (const std::uint32_t m : members.subspan(1)) {
        ranks_[m].leader = leader;
        ranks_[m].kernel_time -= ranks_[leader].kernel_time;
        for (std::uint32_t s = 0; s < num_streams_; ++s) {
            StreamState& left = streams_[stream_of(m, s)];
            StreamState& stream = streams_[stream_of(leader, s)];
            ++left.generation;  // its events are void
            stream.size += left.size;
            if (stream.phase == StreamPhase::arrived && last_step(leader)) {
                busy_[item_of(stream_of(leader, s)).cause] +=
                    (stream.start - left.start) * static_cast<std::int64_t>(left.size);
            }
            if (!walks_.empty()) {
                walks_[stream_of(m, s)].run = nullptr;
            }
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

// Who waits for an arrived op asks when it arrived only to keep a promise, and promises are made to
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
           x.work_left == y.work_left && x.kernel_time == y.kernel_time &&
           same_path(x.path, y.path) && same_path(x.busy, y.busy);
}

}  // namespace orrery
