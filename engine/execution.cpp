// SPDX-License-Identifier: Apache-2.0
#include "engine/execution.h"

#include <algorithm>

#include "engine/check.h"

namespace orrery {

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
      run_times_(time_runs(input, tapes)),
      streams_(quotient.ranks.size() * num_streams_),
      ranks_(quotient.ranks.size()),
      open_(quotient.channels.size(), kNoTransfer),
      step_ends_(input.steps),
      traced_(quotient.ranks.size()) {
    for (const RankId rank : input.traced_ranks) {
        traced_[quotient.class_of_rank[index(rank)]].push_back(rank);
    }
    bool walks = !input.traced_ranks.empty();
    for (const DeviceTimings& device : input.devices) {
        walks = walks || device.num_sms > 0;
    }
    if (walks) {
        walks_.resize(streams_.size());
    }
    for (std::uint32_t id = 0; id < streams_.size(); ++id) {
        const std::uint32_t r = rank_of(id);
        const std::uint64_t others =
            tape_of(r).kernel_streams & ~(std::uint64_t{1} << (id % num_streams_));
        slows_kernels_.push_back(others != 0 &&
                                 input.devices[quotient.ranks[r].device].num_sms > 0);
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        ops_total_ += tape_of(r).num_ops * quotient.ranks[r].size * input.steps;
    }
}

bool Execution::run() {
    ranks_left_ = static_cast<std::uint32_t>(ranks_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        begin_step(r, Time{});
    }
    drain(Time{});
    const auto num_streams = static_cast<std::uint32_t>(streams_.size());
    while (ranks_left_ > 0) {
        if (rates_changed_) {
            rates_.settle(instant_);
            rates_changed_ = false;
        }
        const Time now = std::min(queue_.next_time(), rates_.next_completion());
        if (now == Time::max()) {
            return false;
        }
        instant_ = now;
        if (rates_.next_completion() == now) {
            flows_end(now);
        }
        while (queue_.next_time() == now) {
            const Event event = queue_.pop();
            if (event.target < num_streams) {
                if (streams_[event.target].generation == event.generation) {
                    stream_event(event.target, now);
                }
            } else if (pool_[event.target - num_streams].generation == event.generation) {
                transfer_event(event.target - num_streams, now);
            }
            drain(now);
        }
    }
    return true;
}

// --- steps and streams ---

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
        --ranks_left_;  // a role without ops: none of its steps takes any time
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
    StepEnd& end = step_ends_[rank.step];
    const RankId id = quotient_.ranks[r].representative;
    if (!end.reached || now > end.time || (now == end.time && id < end.rank)) {
        end = {now, rank.host_path, id, true};
    }
    if (last_step(r)) {
        --ranks_left_;
        return;
    }
    ++rank.step;
    begin_step(r, now);
}

void Execution::drain(Time now) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
        look_at(ready_[i], now);
    }
    ready_.clear();
}

bool Execution::conditions_hold(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    const RoleTape& tape = tape_of(r);
    StreamState& stream = streams_[id];
    for (std::uint32_t w = 0; w < item.num_waits; ++w) {
        const ItemCondition& condition = tape.conditions[item.first_wait + w];
        if (streams_[stream_of(r, condition.stream)].item < condition.items) {
            stream.phase = StreamPhase::blocked;
            stream.awaited_stream = static_cast<std::uint8_t>(condition.stream);
            stream.awaited_items = condition.items;
            return false;
        }
    }
    if (stream.ended != now) {
        std::uint32_t w = 0;
        const auto ended = [&] {
            return streams_[stream_of(r, tape.conditions[item.first_wait + w].stream)].ended;
        };
        while (ended() != now) {
            ++w;
            ORRERY_CHECK(w < item.num_waits);
        }
        stream.path = streams_[stream_of(r, tape.conditions[item.first_wait + w].stream)].path;
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
        stream.path = launch_path(r, item);
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
    queue_.schedule(due, id, ++stream.generation);
}

void Execution::stream_event(std::uint32_t id, Time now) {
    if (streams_[id].phase == StreamPhase::launching) {
        arrive(id, item_of(id), now);
    } else {
        end_run(id, now);
    }
}

void Execution::end_item(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    StreamState& stream = streams_[id];
    stream.ended = now;
    ++stream.item;
    ++stream.generation;
    report_progress(item, r);
    if (item.watched) {
        for (std::uint32_t s = 0; s < num_streams_; ++s) {
            StreamState& other = streams_[stream_of(r, s)];
            if (other.phase == StreamPhase::blocked && other.awaited_stream == id % num_streams_ &&
                other.awaited_items <= stream.item) {
                other.phase = StreamPhase::ready;
                ready_.push_back(stream_of(r, s));
            }
        }
    }
    if (stream.item < tape_of(r).streams[id % num_streams_].items.size()) {
        stream.phase = StreamPhase::ready;
        ready_.push_back(id);
        return;
    }
    stream.phase = StreamPhase::done;
    if (--ranks_[r].streams_left == 0) {
        end_step(r, now);
    }
}

void Execution::report_progress(const TapeItem& item, std::uint32_t r) {
    ops_done_ += std::int64_t{item.num_ops} * quotient_.ranks[r].size;
    if (ops_done_ >= next_report_ && input_.progress) {
        input_.progress(static_cast<double>(ops_done_) / static_cast<double>(ops_total_));
        next_report_ = ops_done_ + ops_total_ / 200;
    }
}

// --- runs and held SMs ---

void Execution::begin_run(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    StreamState& stream = streams_[id];
    const RankState& rank = ranks_[r];
    const std::uint16_t device = quotient_.ranks[r].device;
    const RunTimes& run = run_times_[device * tapes_.shapes.size() + item.shape];
    stream.phase = StreamPhase::running;
    stream.start = now;
    const Time launch = rank.host_start + item.launch;
    Time due = std::max(now + run.duration, launch + run.launch_bound);
    if (rank.held_sms > 0 || !traced_[r].empty()) {
        begin_walk(walks_[id],
                   run,
                   input_.devices[device].num_sms,
                   now,
                   launch,
                   stream.path,
                   launch_path(r, item));
        due = end_of_walk(walks_[id], rank.held_sms);
    }
    if (!promise(id, item, due)) {
        schedule(id, due);
    }
}

void Execution::end_run(std::uint32_t id, Time now) {
    const TapeItem& item = item_of(id);
    finish_run(id, item, now);
    end_item(id, item, now);
}

// Sets the path to the run's end and counts its time.
void Execution::finish_run(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    StreamState& stream = streams_[id];
    const auto size = static_cast<std::int64_t>(quotient_.ranks[r].size);
    const CauseTimes* busy = nullptr;
    Time kernel_time;
    if (!walks_.empty() && walks_[id].run != nullptr) {
        trace_walk(id, now);
        RunWalk& walk = walks_[id];
        ORRERY_CHECK(walk.done() && walk.begin == now);
        stream.path = walk.path;
        busy = &walk.busy;
        kernel_time = walk.kernel_time;
        walk.run = nullptr;
    } else {
        const RunTimes& run =
            run_times_[quotient_.ranks[r].device * tapes_.shapes.size() + item.shape];
        if (now > stream.start + run.duration) {
            stream.path = launch_path(r, item);
            stream.path += run.launch_path;
        } else {
            stream.path += run.work;
        }
        busy = &run.work;
        kernel_time = run.kernel_time;
    }
    if (last_step(r)) {
        ranks_[r].kernel_time += kernel_time;
        for (std::size_t c = 0; c < kNumCauses; ++c) {
            busy_.of[c] += busy->of[c] * size;
        }
    }
}

// Brings a walk up to `now` and traces the ops that end on the way.
void Execution::trace_walk(std::uint32_t id, Time now) {
    const std::uint32_t r = rank_of(id);
    const TapeItem& item = item_of(id);
    walked_.clear();
    advance_walk(walks_[id],
                 now,
                 ranks_[r].held_sms,
                 launch_path(r, item),
                 traced_[r].empty() ? nullptr : &walked_);
    const std::vector<TapeOp>& ops = tape_of(r).streams[id % num_streams_].ops;
    for (const WalkedOp& walked : walked_) {
        const TapeOp& place = ops[item.first_op + walked.op];
        for (const RankId rank : traced_[r]) {
            trace_.push_back({.rank = rank,
                              .step = ranks_[r].step,
                              .slot = place.slot,
                              .op = place.op,
                              .start = walked.begin,
                              .data_start = walked.begin,
                              .end = walked.end});
        }
    }
}

void Execution::trace_item(std::uint32_t id, const TapeItem& item, Time data_start, Time now) {
    const std::uint32_t r = rank_of(id);
    const TapeOp& place = tape_of(r).streams[id % num_streams_].ops[item.first_op];
    for (const RankId rank : traced_[r]) {
        trace_.push_back({.rank = rank,
                          .step = ranks_[r].step,
                          .slot = place.slot,
                          .op = place.op,
                          .start = streams_[id].start,
                          .data_start = data_start,
                          .end = now});
    }
}

std::uint32_t Execution::sms_of(std::uint32_t r, const TapeItem& item) const {
    std::uint32_t sms = 0;
    for (std::uint32_t p = 0; p < item.num_parts; ++p) {
        const TapePart& part = tape_of(r).parts[item.first_part + p];
        const std::uint32_t c =
            quotient_.channel_of[quotient_.ranks[r].first_channel + part.channel];
        const Channel& channel = transfers_.channels[quotient_.channels[c].channel];
        sms += transfers_.messages[channel.first_message + part.message].sms;
    }
    return sms;
}

// An op takes (or gives back) SMs: runs of the rank's other streams change their pace.
void Execution::change_held(std::uint32_t r, Time now, std::int64_t sms) {
    if (sms == 0) {
        return;
    }
    const std::uint16_t device = quotient_.ranks[r].device;
    RankState& rank = ranks_[r];
    const auto runs = [&](std::uint32_t other) {
        return streams_[other].phase == StreamPhase::running ||
               streams_[other].phase == StreamPhase::promised;
    };
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        const std::uint32_t other = stream_of(r, s);
        if (!runs(other)) {
            continue;
        }
        if (walks_[other].run == nullptr) {
            const TapeItem& item = item_of(other);
            begin_walk(walks_[other],
                       run_times_[device * tapes_.shapes.size() + item.shape],
                       input_.devices[device].num_sms,
                       streams_[other].start,
                       rank.host_start + item.launch,
                       streams_[other].path,
                       launch_path(r, item));
        }
        trace_walk(other, now);
    }
    rank.held_sms = static_cast<std::uint32_t>(std::int64_t{rank.held_sms} + sms);
    for (std::uint32_t s = 0; s < num_streams_; ++s) {
        const std::uint32_t other = stream_of(r, s);
        if (!runs(other)) {
            continue;
        }
        const Time due = end_of_walk(walks_[other], rank.held_sms);
        if (due == streams_[other].due) {
            continue;
        }
        if (streams_[other].phase == StreamPhase::running) {
            schedule(other, due);
            continue;
        }
        streams_[other].due = due;
        if (pool_[streams_[other].transfer].missing == 0) {
            expect_end(streams_[other].transfer);
        }
    }
}

}  // namespace orrery
