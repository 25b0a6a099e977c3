// SPDX-License-Identifier: Apache-2.0
#include "engine/world/kernel_runs.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/base/check.h"

namespace orrery {

namespace {

// `kernel` is the index in DeviceTimings::kernels, for kernels only.
RunOpTime time_op(const SimulationInput& input,
                  const DeviceTimings& device,
                  const RunOp& op,
                  std::size_t kernel_number) {
    RunOpTime timed{
        .cause = op.cause, .is_kernel = op.payload.kind() == OpKind::kernel, .launch = op.launch};
    if (op.payload.kind() == OpKind::kernel) {
        const KernelTime& kernel = device.kernels[kernel_number];
        timed.duration = kernel.duration;
        timed.sm_sensitivity_permille = kernel.sm_sensitivity_permille;
        timed.persistent = kernel.persistent;
        // Recomputed work, and work that is no model FLOP, is not useful compute.
        const bool useful = op.cause != Cause::recomputation && op.cause != Cause::optimizer;
        timed.ideal = useful ? std::min(kernel.ideal, kernel.duration) : Time{};
    } else {
        const HostWork& work = input.program->host_works[index(op.payload.host_work())];
        const bool restarts = work.kind == HostWorkKind::restart && !op.holds_host;
        timed.duration = restarts ? device.restart : work.duration;
    }
    return timed;
}

__int128 work_of(const RunOpTime& op) {
    return static_cast<__int128>(op.duration.picoseconds()) * kFullKernelRate;
}

std::int64_t rate_of(const RunOpTime& op, std::uint32_t held_sms, std::uint32_t num_sms) {
    return op.is_kernel && !op.persistent
               ? kernel_rate(held_sms, num_sms, op.sm_sensitivity_permille)
               : kFullKernelRate;
}

// The work of an op that makes its first progress while `held_sms` are held.
__int128 work_of(const RunOpTime& op, std::uint32_t held_sms, std::uint32_t num_sms) {
    if (!op.persistent) {
        return work_of(op);
    }
    return static_cast<__int128>(op.duration.picoseconds()) *
           persistent_work(held_sms, num_sms, op.sm_sensitivity_permille);
}

// The work that the current op has left if `held_sms` are held from now on. Without held SMs, the
// last blocks of a persistent kernel start at once.
__int128 work_left(const RunWalk& walk, std::uint32_t held_sms) {
    const RunOpTime& op = walk.run->ops[walk.op];
    if (!op.persistent) {
        return walk.work_left;
    }
    if (walk.since == walk.begin) {
        return work_of(op, held_sms, walk.num_sms);
    }
    return held_sms == 0 ? std::min(walk.work_left, work_of(op)) : walk.work_left;
}

Time time_for(__int128 work, std::int64_t rate) {
    if (rate == kFullKernelRate) {
        return Time::picoseconds(static_cast<std::int64_t>((work + kFullKernelRate - 1) >> 20));
    }
    if (work < INT64_MAX - kFullKernelRate) {  // nearly always true: work below 8 seconds
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

// The sum and the launch bound of a run; kernel_of(op) is the index of an op's kernel.
template <class KernelOf>
RunTimes time_run(const SimulationInput& input,
                  const DeviceTimings& device,
                  const RunShape& shape,
                  const KernelOf& kernel_of) {
    RunTimes run;
    for (const RunOp& op : shape) {
        const bool is_kernel = op.payload.kind() == OpKind::kernel;
        run.ops.push_back(time_op(input, device, op, is_kernel ? kernel_of(op) : 0));
    }
    PathTimes suffix;
    // From the last op to the first, so that the earliest launch wins a tie.
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
    return run;
}

// By column of the load: the index of its shortest kernel.
std::vector<std::uint32_t> least_kernels(const SimulationInput& input,
                                         const DeviceTimings& device) {
    std::vector<std::uint32_t> least;
    const StepLoad* const load = input.load;
    for (std::size_t first = 0; load != nullptr && first < load->kernels.size();
         first += load->num_levels) {
        const auto begin = load->kernels.begin() + static_cast<std::ptrdiff_t>(first);
        least.push_back(*std::min_element(
            begin, begin + load->num_levels, [&](std::uint32_t a, std::uint32_t b) {
                return device.kernels[a].duration < device.kernels[b].duration;
            }));
    }
    return least;
}

// Ranks with equal work share a run, even of different layers and micro-batches.
class LoadedRunsFinder {
public:
    LoadedRunsFinder(const SimulationInput& input, const Tapes& tapes)
        : input_(input), load_(*input.load), tapes_(tapes), forms_(tapes.shapes.size()) {
        std::map<std::vector<std::int64_t>, std::uint32_t> known;
        for (std::size_t s = 0; s < tapes.shapes.size(); ++s) {
            Form& form = forms_[s];
            for (const RunOp& op : tapes.shapes[s]) {
                if (op.draw != 0 && std::ranges::find(form.draws, op.draw) == form.draws.end()) {
                    form.draws.push_back(op.draw);
                }
            }
            form.number = known
                              .try_emplace(key_of(tapes.shapes[s], form.draws),
                                           static_cast<std::uint32_t>(known.size()))
                              .first->second;
        }
        for (const DeviceChange& change : input.events.devices) {
            const auto& all = out_.devices;
            if (change.becomes != kLostDevice &&
                std::ranges::find(all, change.becomes) == all.end()) {
                out_.devices.push_back(change.becomes);
            }
        }
    }

    LoadedRuns find(const Quotient& quotient) {
        for (const RankClass& rank : quotient.ranks) {
            out_.first.push_back(out_.number.size());
            add_rank(rank, rank.device);
            for (const std::uint16_t device : out_.devices) {
                add_rank(rank, device);
            }
        }
        return std::move(out_);
    }

private:
    // A shape without the numbers of its draws.
    struct Form {
        std::uint32_t number = 0;
        std::vector<std::uint32_t> draws{};  // the distinct draws
    };

    std::vector<std::int64_t> key_of(const RunShape& shape,
                                     const std::vector<std::uint32_t>& draws) const {
        std::vector<std::int64_t> key;
        for (const RunOp& op : shape) {
            std::int64_t what = op.payload.number();
            std::int64_t draw = -1;
            if (op.draw != 0) {
                draw = std::ranges::find(draws, op.draw) - draws.begin();
                const std::uint32_t column = load_.column(op.payload.kernel());
                what = column == StepLoad::kNone ? what : -1 - std::int64_t{column};
            }
            key.insert(key.end(),
                       {static_cast<std::int64_t>(op.payload.kind()),
                        what,
                        static_cast<std::int64_t>(op.cause),
                        op.launch.picoseconds(),
                        draw});
        }
        return key;
    }

    void add_rank(const RankClass& rank, std::uint16_t device) {
        for (const std::uint32_t shape : tapes_.roles[index(rank.role)].loaded) {
            const Form& form = forms_[shape];
            levels_.clear();
            for (const std::uint32_t draw : form.draws) {
                levels_.push_back(load_.of(rank.representative, rank.role, draw).level);
            }
            if (levels_.size() == 1) {
                const std::uint64_t key = std::uint64_t{device} << 52 ^
                                          std::uint64_t{form.number} << 26 ^ levels_.front();
                const auto [found, added] = known_.try_emplace(key, next());
                out_.number.push_back(found->second);
                if (added) {
                    add_run(device, shape);
                }
                continue;
            }
            std::vector<std::uint32_t> key{device, form.number};
            key.insert(key.end(), levels_.begin(), levels_.end());
            const auto [found, added] = known_many_.try_emplace(std::move(key), next());
            out_.number.push_back(found->second);
            if (added) {
                add_run(device, shape);
            }
        }
    }

    std::uint32_t next() const { return static_cast<std::uint32_t>(out_.runs.size()); }

    void add_run(std::uint16_t device, std::uint32_t shape) {
        const std::vector<std::uint32_t>& draws = forms_[shape].draws;
        out_.runs.push_back(
            time_run(input_, input_.devices[device], tapes_.shapes[shape], [&](const RunOp& op) {
                const KernelId kernel = op.payload.kernel();
                const auto i = std::ranges::find(draws, op.draw) - draws.begin();
                return op.draw == 0 ? index(kernel)
                                    : load_.kernel(kernel, levels_[static_cast<std::size_t>(i)]);
            }));
    }

    const SimulationInput& input_;
    const StepLoad& load_;
    const Tapes& tapes_;
    std::vector<Form> forms_;  // by shape
    std::vector<std::uint32_t> levels_;
    std::unordered_map<std::uint64_t, std::uint32_t> known_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> known_many_;
    LoadedRuns out_;
};

}  // namespace

std::vector<RunTimes> time_runs(const SimulationInput& input, const Tapes& tapes) {
    std::vector<RunTimes> runs;
    for (const DeviceTimings& device : input.devices) {
        const std::vector<std::uint32_t> least = least_kernels(input, device);
        for (const RunShape& shape : tapes.shapes) {
            runs.push_back(time_run(input, device, shape, [&](const RunOp& op) {
                const std::uint32_t column =
                    op.draw == 0 ? StepLoad::kNone : input.load->column(op.payload.kernel());
                return column == StepLoad::kNone ? index(op.payload.kernel()) : least[column];
            }));
        }
    }
    return runs;
}

const RunTimes& LoadedRuns::of(RankClassId r,
                               std::uint16_t own,
                               std::uint16_t device,
                               std::size_t in_tape,
                               std::uint32_t loaded) const {
    std::size_t place = loaded;
    if (device != own) {
        const auto found = std::ranges::find(devices, device);
        ORRERY_CHECK(found != devices.end());
        place += in_tape * static_cast<std::size_t>(found - devices.begin() + 1);
    }
    return runs[number[first[index(r)] + place]];
}

LoadedRuns time_loaded_runs(const SimulationInput& input,
                            const Tapes& tapes,
                            const Quotient& quotient) {
    return input.load == nullptr ? LoadedRuns{} : LoadedRunsFinder(input, tapes).find(quotient);
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
        const __int128 left = work_left(walk, held_sms);
        const Time end = walk.since + time_for(left, rate);
        if (end > now) {
            // The number of held SMs may still change at this instant.
            if (now > walk.since) {
                walk.work_left =
                    left - static_cast<__int128>((now - walk.since).picoseconds()) * rate;
                walk.since = now;
            }
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
    const std::int64_t pace = old.ops[walk.op].duration.picoseconds();
    const std::int64_t next_pace = next.ops[walk.op].duration.picoseconds();
    const auto at_next_pace = [&](__int128 work) {
        return pace > 0 ? (work * next_pace + pace - 1) / pace : work;
    };
    // Blocks of a persistent kernel that wait for SMs are work beyond its duration.
    const __int128 own = std::min(walk.work_left, work_of(op));
    op.duration -= time_for(own, kFullKernelRate);
    op.duration += time_for(at_next_pace(own), kFullKernelRate);
    walk.work_left = at_next_pace(walk.work_left);
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

bool runs_kernel(const RunWalk& walk) {
    return !walk.done() && walk.run->ops[walk.op].is_kernel;
}

Time end_of_op(const RunWalk& walk, std::uint32_t held_sms) {
    const RunOpTime& op = walk.run->ops[walk.op];
    return walk.since + time_for(work_left(walk, held_sms), rate_of(op, held_sms, walk.num_sms));
}

Time end_of_walk(const RunWalk& walk, std::uint32_t held_sms) {
    if (walk.done()) {
        return walk.begin;
    }
    Time end = end_of_op(walk, held_sms);
    for (std::size_t i = walk.op + 1; i < walk.run->ops.size(); ++i) {
        const RunOpTime& op = walk.run->ops[i];
        end = std::max(end, walk.host_launch + op.launch) +
              time_for(work_of(op, held_sms, walk.num_sms), rate_of(op, held_sms, walk.num_sms));
    }
    return end;
}

void add_walk(PathTimes& path, const RunWalk& walk) {
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
