// SPDX-License-Identifier: Apache-2.0
#include "engine/world/kernel_runner.h"

#include <algorithm>
#include <limits>

#include "engine/base/check.h"
#include "engine/world/execution.h"

namespace orrery {

namespace {

constexpr std::uint32_t kSmsUnknown = UINT32_MAX;
constexpr std::uint32_t kSmsDiffer = UINT32_MAX - 1;

}  // namespace

KernelRunner::KernelRunner(Execution& execution) : ExecutionPart(execution) {
    find_role_sms();
    queues_ = std::ranges::any_of(plan_.input.devices, &DeviceTimings::communication_queues);
}

void KernelRunner::begin_run(RankStreamId id, const TapeItem& item, Time now) {
    const RankClassId r = state_.rank_of(id);
    StreamState& stream = state_.streams[id];
    RankState& rank = state_.ranks[r];
    const std::uint16_t device = rank.device;
    const RunTimes& run = plan_.run(r, device, item);
    rank.running |= std::uint64_t{1} << stream.stream;
    stream.phase = StreamPhase::running;
    stream.all_launched = false;
    stream.start = now;
    const Time launch = state_.launch_of(id, item);
    Time due = std::max(now + run.duration, launch + run.launch_bound);
    if (rank.held_sms > 0 || stream.traced) {
        begin_walk(state_.walks[id], run, plan_.input.devices[device].num_sms, now, launch);
        due = end_of_walk(state_.walks[id], rank.held_sms);
    }
    parts_.streams.schedule(id, due);
}

void KernelRunner::end_run(RankStreamId id, Time now) {
    const TapeItem& item = state_.item_of(id);
    finish_run(id, item, now);
    if (item.holds_host) {
        release_host(id, item, now);
    }
    parts_.streams.end_item(id, item, now);
}

// The host launches the ops behind the run from now on. Launches before it are past, so that one
// start of all launches of the step remains enough.
void KernelRunner::release_host(RankStreamId id, const TapeItem& item, Time now) {
    const RankClassId r = state_.rank_of(id);
    RankState& rank = state_.ranks[r];
    const Time launched = item.launch + plan_.run(r, rank.device, item).ops.back().launch;
    if (state_.in_newest_step(id) && rank.host_start + launched < now) {
        keep_launches(r, now);
        rank.host_start = now - launched;
        rank.host_path = state_.streams[id].path;
        rank.host_path[Cause::launch] -= launched;
    }
}

// The rank's runs keep the launches that they had.
void KernelRunner::keep_launches(RankClassId r, Time now) {
    if (!state_.walks.empty()) {
        walk_runs(r, now);
    }
    state_.for_each_run(r, [&](RankStreamId id) {
        StreamState& stream = state_.streams[id];
        const TapeItem& item = state_.item_of(id);
        const bool waited =
            state_.walks.empty()
                ? stream.due > stream.start + plan_.run(r, state_.ranks[r].device, item).duration
                : state_.walks[id].launch_bound;
        if (waited && !stream.all_launched) {
            stream.path = state_.launch_path(id, item);
        }
        stream.all_launched = true;
    });
}

void KernelRunner::finish_run(RankStreamId id, const TapeItem& item, Time now) {
    const RankClassId r = state_.rank_of(id);
    StreamState& stream = state_.streams[id];
    const auto size = static_cast<std::int64_t>(stream.size);
    state_.ranks[r].running &= ~(std::uint64_t{1} << stream.stream);
    const bool walked = !state_.walks.empty() && state_.walks[id].run != nullptr;
    const RunTimes& run =
        walked ? *state_.walks[id].run : plan_.run(r, state_.ranks[r].device, item);
    Time stretch;
    Time kernel_time = run.kernel_time;
    if (walked) {
        trace_walk(id, now);
        RunWalk& walk = state_.walks[id];
        ORRERY_CHECK(walk.done() && walk.begin == now);
        if (walk.launch_bound && !stream.all_launched) {
            stream.path = state_.launch_path(id, item);
        }
        add_walk(stream.path, walk);
        stretch = walk.stretch;
        kernel_time = walk.kernel_time;
        walk.run = nullptr;
    } else if (now > stream.start + run.duration) {
        if (!stream.all_launched) {
            stream.path = state_.launch_path(id, item);
        }
        stream.path += run.launch_path;
    } else {
        stream.path += run.work;
    }
    if (state_.in_last_step(id)) {
        state_.ranks[r].kernel_time += kernel_time;
        log_.busy[Cause::interference] += stretch * size;
        log_.count_run(run, size);
    }
}

void KernelRunner::trace_walk(RankStreamId id, Time now) {
    const RankClassId r = state_.rank_of(id);
    if (!state_.streams[id].traced) {
        advance_walk(state_.walks[id], now, state_.ranks[r].held_sms, nullptr);
        return;
    }
    const TapeItem& item = state_.item_of(id);
    walked_.clear();
    advance_walk(state_.walks[id], now, state_.ranks[r].held_sms, &walked_);
    const std::vector<SlotOp>& ops = state_.streams[id].tape->ops;
    for (const WalkedOp& walked : walked_) {
        log_.trace_op(id, ops[item.first_op + walked.op], walked);
    }
}

std::uint16_t KernelRunner::sms_of(RankClassId r, const TapeItem& item) const {
    const RoleSms& known = role_sms_[state_.ranks[r].role];
    std::uint32_t sms = 0;
    for (std::uint32_t p = 0; p < item.num_parts; ++p) {
        const TapePart& part = state_.tape_of(r).parts[item.first_part + p];
        const std::uint32_t same = known.of_message[known.first[part.connection] + part.message];
        if (same != kSmsDiffer) {
            sms += same;
            continue;
        }
        const ConnectionClassId c = plan_.connection_of(r, part.connection);
        sms += plan_.transfers.messages[open_.connections[c].first_message + part.message].sms;
    }
    return static_cast<std::uint16_t>(
        std::min<std::uint32_t>(sms, std::numeric_limits<std::uint16_t>::max()));
}

// A message of a role mostly holds the same number of SMs on all ranks. sms_of() then reads one
// table entry instead of the ranks' own messages, which are not in the cache.
void KernelRunner::find_role_sms() {
    for (const RoleTape& tape : plan_.tapes.roles) {
        RoleSms& sms = role_sms_.emplace_back();
        std::uint32_t messages = 0;
        for (const RoleConnection& connection : tape.connections) {
            sms.first.push_back(messages);
            messages += connection.num_messages();
        }
        sms.of_message.assign(messages, kSmsUnknown);
    }
    for (const RankClass& rank : plan_.quotient.ranks) {
        RoleSms& sms = role_sms_[index(rank.role)];
        const std::vector<RoleConnection>& connections =
            plan_.tapes.roles[index(rank.role)].connections;
        for (std::uint32_t c = 0; c < connections.size(); ++c) {
            const ConnectionState& connection =
                open_.connections[plan_.quotient.connection_of[rank.first_connection + c]];
            for (std::uint32_t m = 0; m < connections[c].num_messages(); ++m) {
                const std::uint32_t own =
                    plan_.transfers.messages[connection.first_message + m].sms;
                std::uint32_t& known = sms.of_message[sms.first[c] + m];
                known = known == kSmsUnknown || known == own ? own : kSmsDiffer;
            }
        }
    }
}

void KernelRunner::walk_runs(RankClassId r, Time now) {
    state_.for_each_run(r, [&](RankStreamId id) {
        if (state_.walks[id].run == nullptr) {
            const std::uint16_t device = state_.ranks[r].device;
            const TapeItem& item = state_.item_of(id);
            begin_walk(state_.walks[id],
                       plan_.run(r, device, item),
                       plan_.input.devices[device].num_sms,
                       state_.streams[id].start,
                       state_.launch_of(id, item));
        }
        trace_walk(id, now);
    });
}

bool KernelRunner::queues(RankClassId r, const TapeItem& item) const {
    const DeviceTimings& device = plan_.input.devices[state_.ranks[r].device];
    return device.communication_queues && device.num_sms > 0 && sms_of(r, item) > 0;
}

Time KernelRunner::sms_free(RankStreamId id, Time now) {
    const RankClassId r = state_.rank_of(id);
    walk_runs(r, now);
    return end_of_kernels(r, state_.streams[id].start);
}

// The end of the rank's kernels that started before `asked`.
Time KernelRunner::end_of_kernels(RankClassId r, Time asked) const {
    Time end;
    state_.for_each_run(r, [&](RankStreamId id) {
        const RunWalk& walk = state_.walks[id];
        if (runs_kernel(walk) && walk.begin < asked) {
            end = std::max(end, end_of_op(walk, state_.ranks[r].held_sms));
        }
    });
    return end;
}

void KernelRunner::schedule_queues(RankClassId r, Time now) {
    for (std::uint32_t s = 0; queues_ && s < state_.num_streams; ++s) {
        const RankStreamId id = state_.stream_of(r, s);
        const StreamState& stream = state_.streams[id];
        if (stream.phase == StreamPhase::queueing && stream.start <= now) {
            const Time due = std::max(now, end_of_kernels(r, stream.start));
            if (due != stream.due) {
                parts_.streams.schedule(id, due);
            }
        }
    }
}

void KernelRunner::schedule_walks(RankClassId r, Time now) {
    state_.for_each_run(r, [&](RankStreamId id) {
        const Time due = end_of_walk(state_.walks[id], state_.ranks[r].held_sms);
        if (due != state_.streams[id].due) {
            parts_.streams.schedule(id, due);
        }
    });
    schedule_queues(r, now);
}

void KernelRunner::change_held(RankClassId r, Time now, std::int64_t sms) {
    if (sms == 0) {
        return;
    }
    walk_runs(r, now);
    state_.ranks[r].held_sms =
        static_cast<std::uint32_t>(std::int64_t{state_.ranks[r].held_sms} + sms);
    schedule_walks(r, now);
}

}  // namespace orrery
