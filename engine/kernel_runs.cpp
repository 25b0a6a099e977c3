// SPDX-License-Identifier: Apache-2.0
#include "engine/kernel_runs.h"

#include <algorithm>

#include "engine/check.h"

namespace orrery {

namespace {

RunOpTime time_op(const SimulationInput& input, const DeviceTimings& device, const RunOp& op) {
    RunOpTime timed{
        .cause = op.cause, .is_kernel = op.payload.kind() == OpKind::kernel, .launch = op.launch};
    if (op.payload.kind() == OpKind::kernel) {
        const KernelTime& kernel = device.kernels[index(op.payload.kernel())];
        timed.duration = kernel.duration;
        timed.sm_sensitivity_permille = kernel.sm_sensitivity_permille;
        // Work that is done again, or that is no model FLOP, is nowhere useful.
        const bool useful = op.cause != Cause::recomputation && op.cause != Cause::optimizer;
        timed.ideal = useful ? std::min(kernel.ideal, kernel.duration) : Time{};
    } else {
        const HostWork& work = input.program->host_works[index(op.payload.host_work())];
        timed.duration = work.kind == HostWorkKind::restart ? device.restart : work.duration;
    }
    return timed;
}

__int128 work_of(const RunOpTime& op) {
    return static_cast<__int128>(op.duration.picoseconds()) * kFullKernelRate;
}

std::int64_t rate_of(const RunOpTime& op, std::uint32_t held_sms, std::uint32_t num_sms) {
    return op.is_kernel ? kernel_rate(held_sms, num_sms, op.sm_sensitivity_permille)
                        : kFullKernelRate;
}

Time time_for(__int128 work, std::int64_t rate) {
    if (rate == kFullKernelRate) {
        return Time::picoseconds(static_cast<std::int64_t>((work + kFullKernelRate - 1) >> 20));
    }
    if (work < INT64_MAX - kFullKernelRate) {  // nearly always: below 8 seconds
        return Time::picoseconds((static_cast<std::int64_t>(work) + rate - 1) / rate);
    }
    return Time::picoseconds(static_cast<std::int64_t>((work + rate - 1) / rate));
}

void begin_op(RunWalk& walk, Time earliest) {
    walk.begin = earliest;
    if (walk.done()) {
        return;
    }
    const RunOpTime& op = walk.run->ops[walk.op];
    const Time launch = walk.host_launch + op.launch;
    if (launch > earliest) {
        walk.begin = launch;
        walk.first_op = walk.op;
        walk.launch_bound = true;
        walk.path_stretch = {};
    }
    walk.since = walk.begin;
    walk.work_left = work_of(op);
}

}  // namespace

std::vector<RunTimes> time_runs(const SimulationInput& input, const Tapes& tapes) {
    std::vector<RunTimes> runs;
    for (const DeviceTimings& device : input.devices) {
        for (const RunShape& shape : tapes.shapes) {
            RunTimes run;
            for (const RunOp& op : shape) {
                run.ops.push_back(time_op(input, device, op));
            }
            CauseTimes suffix;
            // From the back, so that on a tie the earliest launch is the one that bound.
            for (std::size_t i = run.ops.size(); i-- > 0;) {
                const RunOpTime& op = run.ops[i];
                op.add_to(suffix);
                run.duration += op.duration;
                run.kernel_time += op.is_kernel ? op.duration : Time{};
                if (op.launch + run.duration >= run.launch_bound) {
                    run.launch_bound = op.launch + run.duration;
                    run.launch_path = suffix;
                    run.launch_path[Cause::launch] += op.launch;
                }
            }
            run.work = suffix;
            runs.push_back(std::move(run));
        }
    }
    return runs;
}

void begin_walk(
    RunWalk& walk, const RunTimes& run, std::uint32_t num_sms, Time condition, Time host_launch) {
    walk = RunWalk{.run = &run, .num_sms = num_sms, .host_launch = host_launch};
    begin_op(walk, condition);
}

void advance_walk(RunWalk& walk, Time now, std::uint32_t held_sms, std::vector<WalkedOp>* ended) {
    while (!walk.done() && walk.begin <= now) {
        const RunOpTime& op = walk.run->ops[walk.op];
        const std::int64_t rate = rate_of(op, held_sms, walk.num_sms);
        const Time end = walk.since + time_for(walk.work_left, rate);
        if (end > now) {
            walk.work_left -= static_cast<__int128>((now - walk.since).picoseconds()) * rate;
            walk.since = now;
            return;
        }
        const Time stretch = end - walk.begin - op.duration;
        walk.stretch += stretch;
        walk.path_stretch += stretch;
        walk.kernel_time += op.is_kernel ? end - walk.begin : Time{};
        if (ended != nullptr) {
            ended->push_back({walk.op, walk.begin, end});
        }
        ++walk.op;
        begin_op(walk, end);
    }
}

void change_device(RunWalk& walk,
                   const RunTimes& old,
                   const RunTimes& next,
                   std::uint32_t num_sms,
                   RunTimes& mixed) {
    mixed = RunTimes{.ops = walk.run->ops};
    RunOpTime& op = mixed.ops[walk.op];
    const __int128 pace = old.ops[walk.op].duration.picoseconds();
    const Time done = op.duration - time_for(walk.work_left, kFullKernelRate);
    if (pace > 0) {
        const __int128 work = walk.work_left * next.ops[walk.op].duration.picoseconds();
        walk.work_left = (work + pace - 1) / pace;
    }
    op.duration = done + time_for(walk.work_left, kFullKernelRate);
    op.ideal = std::min(op.ideal, op.duration);
    for (std::size_t i = walk.op + 1; i < mixed.ops.size(); ++i) {
        mixed.ops[i] = next.ops[i];
    }
    for (const RunOpTime& one : mixed.ops) {
        one.add_to(mixed.work);
        mixed.duration += one.duration;
        mixed.kernel_time += one.is_kernel ? one.duration : Time{};
    }
    walk.run = &mixed;
    walk.num_sms = num_sms;
}

Time end_of_walk(const RunWalk& walk, std::uint32_t held_sms) {
    if (walk.done()) {
        return walk.begin;
    }
    const RunOpTime& current = walk.run->ops[walk.op];
    Time end = walk.since + time_for(walk.work_left, rate_of(current, held_sms, walk.num_sms));
    for (std::size_t i = walk.op + 1; i < walk.run->ops.size(); ++i) {
        const RunOpTime& op = walk.run->ops[i];
        end = std::max(end, walk.host_launch + op.launch) +
              time_for(work_of(op), rate_of(op, held_sms, walk.num_sms));
    }
    return end;
}

void add_walk(CauseTimes& path, const RunWalk& walk) {
    if (walk.launch_bound) {
        path[Cause::launch] += walk.run->ops[walk.first_op].launch;
    }
    if (walk.first_op == 0) {
        path += walk.run->work;
    }
    for (std::size_t i = walk.first_op; i > 0 && i < walk.run->ops.size(); ++i) {
        walk.run->ops[i].add_to(path);
    }
    path[Cause::interference] += walk.path_stretch;
}

}  // namespace orrery
