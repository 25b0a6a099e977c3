// SPDX-License-Identifier: Apache-2.0
// The part of Execution (engine/execution.h) that computes: runs of kernels, and what they lose to
// the SMs that communication holds.
#include <algorithm>

#include "engine/check.h"
#include "engine/execution.h"

namespace orrery {

void Execution::begin_run(std::uint32_t id, const TapeItem& item, Time now) {
    const std::uint32_t r = rank_of(id);
    StreamState& stream = streams_[id];
    RankState& rank = ranks_[r];
    const std::uint16_t device = rank.device;
    const RunTimes& run = run_times_[device * tapes_.shapes.size() + item.shape];
    rank.running |= std::uint64_t{1} << stream.stream;
    stream.phase = StreamPhase::running;
    stream.start = now;
    const Time launch = rank.host_start + item.launch;
    Time due = std::max(now + run.duration, launch + run.launch_bound);
    if (rank.held_sms > 0 || stream.traced) {
        begin_walk(walks_[id], run, input_.devices[device].num_sms, now, launch);
        due = end_of_walk(walks_[id], rank.held_sms);
    }
    if (rank.own_time || !promise(id, item, due)) {
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
    const auto size = static_cast<std::int64_t>(stream.size);
    ranks_[r].running &= ~(std::uint64_t{1} << stream.stream);
    const bool walked = !walks_.empty() && walks_[id].run != nullptr;
    const RunTimes& run =
        walked ? *walks_[id].run : run_times_[ranks_[r].device * tapes_.shapes.size() + item.shape];
    Time stretch;
    Time kernel_time = run.kernel_time;
    if (walked) {
        trace_walk(id, now);
        RunWalk& walk = walks_[id];
        ORRERY_CHECK(walk.done() && walk.begin == now);
        if (walk.launch_bound) {
            stream.path = launch_path(r, item);
        }
        add_walk(stream.path, walk);
        stretch = walk.stretch;
        kernel_time = walk.kernel_time;
        walk.run = nullptr;
    } else if (now > stream.start + run.duration) {
        stream.path = launch_path(r, item);
        stream.path += run.launch_path;
    } else {
        stream.path += run.work;
    }
    if (last_step(r)) {
        ranks_[r].kernel_time += kernel_time;
        busy_[Cause::interference] += stretch * size;
        if (events_ == nullptr) {
            times_run_[static_cast<std::size_t>(&run - run_times_.data())] += size;
        } else {
            add_work(run, size);
        }
    }
}

void Execution::add_work(const RunTimes& run, std::int64_t times) {
    for (std::size_t c = 0; c < kNumCauses; ++c) {
        busy_.of[c] += run.work.of[c] * times;
    }
}

void Execution::add_all_work() {
    for (std::size_t run = 0; run < run_times_.size(); ++run) {
        add_work(run_times_[run], times_run_[run]);
    }
}

// Brings a walk up to `now` and traces the ops that end on the way.
void Execution::trace_walk(std::uint32_t id, Time now) {
    const std::uint32_t r = rank_of(id);
    if (!streams_[id].traced) {
        advance_walk(walks_[id], now, ranks_[r].held_sms, nullptr);
        return;
    }
    const TapeItem& item = item_of(id);
    walked_.clear();
    advance_walk(walks_[id], now, ranks_[r].held_sms, &walked_);
    const std::vector<TapeOp>& ops = streams_[id].tape->ops;
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
    const TapeOp& place = streams_[id].tape->ops[item.first_op];
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
        const std::uint32_t same = role_sms_[ranks_[r].role][part.channel];
        if (same != kSmsDiffer) {
            sms += same;
            continue;
        }
        const std::uint32_t c =
            quotient_.channel_of[quotient_.ranks[r].first_channel + part.channel];
        sms += transfers_.messages[channels_[c].first_message + part.message].sms;
    }
    return sms;
}

// Mostly all messages of a role's channel hold the same, on all ranks: then none is looked up.
void Execution::find_role_sms() {
    for (const RoleTape& tape : tapes_.roles) {
        role_sms_.emplace_back(tape.channels.size(), kSmsUnknown);
    }
    for (const RankClass& rank : quotient_.ranks) {
        std::vector<std::uint32_t>& known = role_sms_[index(rank.role)];
        const std::vector<RoleChannel>& channels = tapes_.roles[index(rank.role)].channels;
        for (std::uint32_t c = 0; c < known.size(); ++c) {
            const ChannelState& channel = channels_[quotient_.channel_of[rank.first_channel + c]];
            for (std::uint32_t m = 0; m < channels[c].num_messages(); ++m) {
                const std::uint32_t sms = transfers_.messages[channel.first_message + m].sms;
                known[c] = known[c] == kSmsUnknown || known[c] == sms ? sms : kSmsDiffer;
            }
        }
    }
}

// Brings the rank's runs up to `now`, as walks.
void Execution::walk_runs(std::uint32_t r, Time now) {
    for_each_run(r, [&](std::uint32_t id) {
        if (walks_[id].run == nullptr) {
            const std::uint16_t device = ranks_[r].device;
            const TapeItem& item = item_of(id);
            begin_walk(walks_[id],
                       run_times_[device * tapes_.shapes.size() + item.shape],
                       input_.devices[device].num_sms,
                       streams_[id].start,
                       ranks_[r].host_start + item.launch);
        }
        trace_walk(id, now);
    });
}

// When they end from now on.
void Execution::schedule_walks(std::uint32_t r) {
    for_each_run(r, [&](std::uint32_t id) {
        const Time due = end_of_walk(walks_[id], ranks_[r].held_sms);
        if (due == streams_[id].due) {
            return;
        }
        if (streams_[id].phase == StreamPhase::running) {
            schedule(id, due);
            return;
        }
        streams_[id].due = due;
        if (pool_[streams_[id].transfer].missing == 0) {
            expect_end(streams_[id].transfer);
        }
    });
}

// An op takes (or gives back) SMs: runs of the rank's other streams change their pace.
void Execution::change_held(std::uint32_t r, Time now, std::int64_t sms) {
    if (sms == 0) {
        return;
    }
    walk_runs(r, now);
    ranks_[r].held_sms = static_cast<std::uint32_t>(std::int64_t{ranks_[r].held_sms} + sms);
    schedule_walks(r);
}

}  // namespace orrery
