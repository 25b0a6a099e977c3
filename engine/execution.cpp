// SPDX-License-Identifier: Apache-2.0
#include "engine/execution.h"

#include <algorithm>

#include "engine/check.h"

namespace orrery {

namespace {

constexpr Time kLongAgo = Time::picoseconds(-(std::int64_t{1} << 60));

}  // namespace

Execution::Execution(const SimulationInput& input,
                     const Tapes& tapes,
                     const Transfers& transfers,
                     const Quotient& quotient,
                     SharedRates& rates)
    : input_(input),
      tapes_(tapes),
      transfers_(transfers),
      quotient_(quotient),
      rates_(rates),
      num_streams_(std::max(1u, tapes.num_streams)),
      stream_bits_(static_cast<std::uint32_t>(std::bit_width(num_streams_ - 1))),
      schedules_arrivals_(input.accelerations.scheduled_arrivals),
      run_times_(time_runs(input, tapes)),
      times_run_(run_times_.size(), 0),
      streams_(quotient.ranks.size() << stream_bits_),
      ranks_(quotient.ranks.size()),
      teams_(find_teams(input, tapes, transfers, quotient)),
      own_time_(input, tapes, transfers, quotient, teams_, run_times_),
      bundles_(find_bundles(input, tapes, transfers, quotient, teams_, rates)),
      traced_(quotient.ranks.size()) {
    set_up_runs();
    for (const RankId rank : input.traced_ranks) {
        traced_[quotient.class_of_rank[index(rank)]].push_back(rank);
    }
    bool walks = !input.traced_ranks.empty() || !input.events.devices.empty();
    for (const DeviceTimings& device : input.devices) {
        walks = walks || device.num_sms > 0;
    }
    if (walks) {
        walks_.resize(streams_.size());
    }
    for (const ChannelClass& channel : quotient.channels) {
        channels_.push_back({.first_message = transfers.channels[channel.channel].first_message,
                             .num_members = channel.num_members,
                             .first_disturbed = channel.first_disturbed,
                             .num_disturbed = channel.num_disturbed,
                             .mostly_alone = channel.mostly_alone});
    }
    find_role_sms();
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
            const RoleTape& tape = tape_of(r);
            StreamState& stream = streams_[stream_of(r, s)];
            stream.rank = r;
            stream.stream = static_cast<std::uint8_t>(s);
            stream.tape = s < tape.streams.size() ? &tape.streams[s] : nullptr;
            stream.size = quotient.ranks[r].size;
            stream.first_channel = quotient.ranks[r].first_channel;
            stream.traced = !traced_[r].empty();
            stream.slows_kernels = (tape.kernel_streams & ~(std::uint64_t{1} << s)) != 0 &&
                                   input.devices[quotient.ranks[r].device].num_sms > 0;
        }
    }
    set_up_teams();
    set_up_bundles();
    set_up_events();
    if (runs_.size() == 1 && runs_[0].steps > 1 && input.accelerations.step_barrier) {
        barriers_ = find_step_barrier(input, tapes, transfers);
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        // After a barrier: the last step, and a little.
        const std::uint32_t steps = barriers_ ? 1 : runs_[party_of(r)].steps;
        ops_total_ += tape_of(r).num_ops * quotient.ranks[r].size * steps;
    }
}

void Execution::set_up_runs() {
    const Program& program = *input_.program;
    for (std::uint32_t p = 0; p < program.parties.size(); ++p) {
        runs_.push_back(input_.run_of(p));
        step_ends_.emplace_back(runs_[p].steps);
        starts_.push_back(runs_[p].start);
    }
    std::sort(starts_.begin(), starts_.end(), std::greater<>{});
    starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r].device = quotient_.ranks[r].device;
        ranks_[r].role = static_cast<std::uint32_t>(index(quotient_.ranks[r].role));
        ranks_[r].tape = &tapes_.roles[ranks_[r].role];
    }
    for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
        party_of_role_.push_back(program.party_of(to_id<RoleId>(role)));
    }
}

bool Execution::run() {
    ranks_left_ = static_cast<std::uint32_t>(ranks_.size());
    for (std::uint32_t r = 0; barriers_ && r < ranks_.size(); ++r) {
        if (!follows(r)) {
            begin_at_barrier(r, (*barriers_)[ranks_[r].role]);
        }
    }
    if (barriers_) {
        starts_.clear();
        drain(Time{});
    }
    begin_runs(Time{});
    work_off(Time{});
    while (ranks_left_ > 0) {
        if (rates_changed_) {
            rates_.settle(instant_);
            rates_changed_ = false;
            take_apart_parted();
        }
        const Time event = std::min(queue_.next_time(), next_outside_event());
        const Time now = std::min(event, rates_.run_until(event));
        if (now == Time::max()) {
            end_all_own_time(Time::max());
            take_apart_all();
            leave_leaders();
            return false;
        }
        instant_ = now;
        work_off(now);
    }
    end_all_own_time(instant_);
    leave_leaders();
    add_all_work();
    return true;
}

// Everything that happens at `now`.
void Execution::work_off(Time now) {
    do {
        if (rates_.next_completion() == now) {
            flows_end(now);
        }
        while (queue_.next_time() == now) {
            handle(queue_.pop(), now);
        }
    } while (begin_runs(now) || part_teams(now) || happen(now));
    join_teams(now);
    free_.insert(free_.end(), closed_.begin(), closed_.end());
    closed_.clear();
}

void Execution::handle(const Event& event, Time now) {
    const auto num_streams = static_cast<std::uint32_t>(streams_.size());
    ++num_events_;
    if (!queue_.empty()) {
        prefetch(queue_.next());
    }
    if ((event.target & kOwnTime) != 0) {
        const std::uint32_t r = event.target & ~kOwnTime;
        if (ranks_[r].own_time && ranks_[r].wake_generation == event.generation) {
            wake(r, now);
        }
    } else if (event.target < num_streams) {
        if (streams_[event.target].generation == event.generation) {
            queued_event(event.target, now);
        }
    } else if (pool_[event.target - num_streams].generation == event.generation) {
        transfer_event(event.target - num_streams, now);
    }
    drain(now);
}

// The event that will be handled next.
void Execution::prefetch(const Event& event) const {
    const auto num_streams = static_cast<std::uint32_t>(streams_.size());
    if ((event.target & kOwnTime) != 0) {
        prefetch_rank(event.target & ~kOwnTime);
        return;
    }
    if (event.target >= num_streams) {
        prefetch_all(&pool_[event.target - num_streams]);
        return;
    }
    prefetch_all(&streams_[event.target]);
    prefetch_rank(member_of(event.target));
    if (!walks_.empty()) {
        prefetch_all(&walks_[event.target]);
    }
}

// --- steps and streams ---

// The first steps of the parties that begin now; false if none does.
bool Execution::begin_runs(Time now) {
    if (starts_.empty() || starts_.back() != now) {
        return false;
    }
    starts_.pop_back();
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (!follows(r) && runs_[party_of(r)].start == now) {
            touch(r, now);
            ranks_[r].host_path[Cause::launch] += now;  // a path begins at time zero
            enter_step(r, 0);
            begin_step(r, now);
        }
    }
    drain(now);
    return true;
}

// In the last step but one. What led here is the same for all ranks: paths count from here as well.
void Execution::begin_at_barrier(std::uint32_t r, const RoleBarrier& barrier) {
    RankState& rank = ranks_[r];
    enter_step(r, runs_[0].steps - 2);
    rank.host_start = kLongAgo;
    rank.streams_left = 0;
    for (std::uint32_t s = 0; s < tape_of(r).streams.size(); ++s) {
        StreamState& stream = streams_[stream_of(r, s)];
        stream.item = barrier.ended[s];
        stream.ended = s == barrier.stream ? Time{} : kLongAgo;
        if (stream.item < stream.tape->items.size()) {
            stream.phase = StreamPhase::ready;
            ++rank.streams_left;
            ready_.push_back(stream_of(r, s));
        }
    }
    if (rank.streams_left == 0) {
        end_step(r, Time{});
    }
}

void Execution::begin_step(std::uint32_t r, Time now) {
    RankState& rank = ranks_[r];
    rank.host_start = now;
    rank.streams_left = 0;
    for (std::uint32_t s = 0; s < tape_of(r).streams.size(); ++s) {
        const std::uint32_t id = stream_of(r, s);
        StreamState& stream = streams_[id];
        stream.item = 0;
        stream.ended = now;
        stream.path = rank.host_path;
        stream.phase = StreamPhase::done;
        if (!tape_of(r).streams[s].items.empty()) {
            stream.phase = StreamPhase::ready;
            ++rank.streams_left;
            ready_.push_back(id);
        }
    }
    if (rank.streams_left == 0) {
        ranks_left_ -= rank.width;  // a role without ops: none of its steps takes any time
    }
}

void Execution::end_step(std::uint32_t r, Time now) {
    RankState& rank = ranks_[r];
    std::uint32_t last = 0;
    while (streams_[stream_of(r, last)].ended != now) {
        ++last;
    }
    rank.host_path = streams_[stream_of(r, last)].path;
    ORRERY_CHECK(rank.host_path.total() == now);
    StepEnd& end = step_ends_[party_of(r)][rank.step];
    const RankId id = quotient_.ranks[r].representative;
    if (!end.reached || now > end.time || (now == end.time && id < end.rank)) {
        end = {now, rank.host_path, id, true};
    }
    if (last_step(r)) {
        ranks_left_ -= rank.width;
        return;
    }
    enter_step(r, rank.step + 1);
    begin_step(r, now);
}

// What is ready from the `first` on, and what that makes ready.
void Execution::drain(Time now, std::size_t first) {
    for (std::size_t i = first; i < ready_.size(); ++i) {
        look_at(ready_[i], now);
    }
    ready_.resize(first);
    if (first == 0 && now == instant_) {
        plan_wakes();
    }
}

bool Execution::conditions_hold(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    const RoleTape& tape = tape_of(r);
    StreamState& stream = streams_[id];
    for (std::uint32_t w = 0; w < item.num_waits; ++w) {
        const ItemCondition& condition = tape.conditions[item.first_wait + w];
        if (streams_[stream_of(r, condition.stream)].item < condition.items) {
            stream.phase = StreamPhase::blocked;
            ranks_[r].blocked |= std::uint64_t{1} << stream.stream;
            stream.awaited_stream = static_cast<std::uint8_t>(condition.stream);
            stream.awaited_items = condition.items;
            return false;
        }
    }
    if (stream.ended != now) {
        // Of two that end now, one may have ended earlier what is waited for, and more by now: then
        // the other one was last, in whatever order the two are worked off.
        const StreamState* last = nullptr;
        for (std::uint32_t w = 0; w < item.num_waits; ++w) {
            const ItemCondition& condition = tape.conditions[item.first_wait + w];
            const StreamState& other = streams_[stream_of(r, condition.stream)];
            if (other.ended == now && other.item == condition.items) {
                last = &other;
                break;
            }
            last = last == nullptr && other.ended == now ? &other : last;
        }
        ORRERY_CHECK(last != nullptr);
        stream.path = last->path;
    }
    return true;
}

void Execution::look_at(std::uint32_t id, Time now) {
    StreamState& stream = streams_[id];
    const TapeItem& item = item_of(id);
    if (!conditions_hold(id, item, now)) {
        return;
    }
    if (item.kind == ItemKind::run) {
        begin_run(id, item, now);
        return;
    }
    const std::uint32_t r = rank_of(id);
    const Time launch = ranks_[r].host_start + item.launch;
    if (launch > now) {
        stream.phase = StreamPhase::launching;
        schedule(id, launch);
        return;
    }
    arrive(id, item, now);
}

CauseTimes Execution::launch_path(std::uint32_t r, const TapeItem& item) const {
    CauseTimes path = ranks_[r].host_path;
    path[Cause::launch] += item.launch;
    return path;
}

void Execution::schedule(std::uint32_t id, Time due) {
    StreamState& stream = streams_[id];
    stream.due = due;
    if (ranks_[stream.rank].own_time) {
        ranks_[stream.rank].pending |= std::uint64_t{1} << stream.stream;
    } else {
        expect_event(stream);
    }
}

// What a stream does is put off, given up and begun again more often than it ends: an event that
// comes before that is kept, and finds out when it comes.
void Execution::expect_event(StreamState& stream) {
    if (stream.due < stream.queued) {
        stream.queued = stream.due;
        queue_.schedule(stream.due, stream_of(stream.rank, stream.stream), ++stream.generation);
    }
}

bool Execution::awaits_event(const StreamState& stream) const {
    return (stream.phase == StreamPhase::running || stream.phase == StreamPhase::launching) &&
           !ranks_[stream.rank].own_time;
}

void Execution::queued_event(std::uint32_t id, Time now) {
    StreamState& stream = streams_[id];
    stream.queued = Time::max();
    if (!awaits_event(stream)) {
        return;
    }
    if (stream.due > now) {
        expect_event(stream);
    } else {
        stream_event(id, now);
    }
}

void Execution::stream_event(std::uint32_t id, Time now) {
    const StreamPhase phase = streams_[id].phase;
    if (phase == StreamPhase::launching) {
        // Not before: an op that waited for the last end asks for the path to that end.
        streams_[id].path = launch_path(rank_of(id), item_of(id));
        arrive(id, item_of(id), now);
    } else if (phase == StreamPhase::meeting) {
        end_meeting(id, now);
    } else {
        end_run(id, now);
    }
}

void Execution::end_item(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    StreamState& stream = streams_[id];
    stream.ended = now;
    ++stream.item;
    report_progress(item, stream.size);
    if (item.watched) {
        for (std::uint64_t left = ranks_[r].blocked; left != 0; left &= left - 1) {
            const auto s = static_cast<std::uint32_t>(std::countr_zero(left));
            StreamState& other = streams_[stream_of(r, s)];
            if (other.awaited_stream == stream.stream && other.awaited_items <= stream.item) {
                other.phase = StreamPhase::ready;
                ranks_[r].blocked &= ~(std::uint64_t{1} << s);
                ready_.push_back(stream_of(r, s));
            }
        }
    }
    if (stream.item < streams_[id].tape->items.size()) {
        stream.phase = StreamPhase::ready;
        ready_.push_back(id);
        return;
    }
    stream.phase = StreamPhase::done;
    if (--ranks_[r].streams_left == 0) {
        end_step(r, now);
    }
}

void Execution::report_progress(const TapeItem& item, std::uint32_t size) {
    ops_done_ += std::int64_t{item.num_ops} * size;
    if (ops_done_ >= next_report_ && input_.progress) {
        input_.progress(
            std::min(1.0, static_cast<double>(ops_done_) / static_cast<double>(ops_total_)));
        next_report_ = ops_done_ + ops_total_ / 200;
    }
}

}  // namespace orrery
