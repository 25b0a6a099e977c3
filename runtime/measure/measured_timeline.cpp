// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/measured_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/statistics.h"
#include "engine/world/traced_ops.h"
#include "runtime/measure/step_replay.h"

namespace orrery {
namespace {

const Op* find_op(const Program& program, RankId rank, const RecordedOp& recorded) {
    const Role& role = program.roles[index(program.role_of(rank))];
    if (recorded.slot >= role.slots.size()) {
        return nullptr;
    }
    const std::vector<Op>& ops = program.segment_of(role.slots[recorded.slot]).ops;
    return recorded.op < ops.size() ? &ops[recorded.op] : nullptr;
}

// An op that only sends does not wait for its receiver.
bool waits_for_peers(const Program& program, const Op& op) {
    return op.kind() == OpKind::collective ||
           (op.kind() == OpKind::send_recv && !only_sends(program, op));
}

Time since(std::int64_t origin_ns, std::int64_t ns) {
    return Time::picoseconds((ns - origin_ns) * 1000);
}

class StepOfRanks {
public:
    StepOfRanks(const Program& program, std::vector<const RecordedStep*> ranks)
        : program_(program), ranks_(std::move(ranks)) {
        origin_ns_ = (*std::ranges::min_element(ranks_, {}, &RecordedStep::begin_ns))->begin_ns;
    }

    Result<MeasuredStep> measured(bool overlaps) {
        MeasuredStep result{
            .step = ranks_.front()->step, .overlaps = overlaps, .ranks = {}, .ops = {}};
        Time all_at_loss;
        for (const RecordedStep* rank : ranks_) {
            all_at_loss = std::max(all_at_loss, since(origin_ns_, rank->loss_ns));
        }
        for (const RecordedStep* rank : ranks_) {
            const Time end = since(origin_ns_, rank->end_ns);
            result.ranks.push_back({.begin = since(origin_ns_, rank->begin_ns),
                                    .loss = since(origin_ns_, rank->loss_ns),
                                    .loss_data = std::min(all_at_loss, end),
                                    .end = end,
                                    .cpu = Time::picoseconds(rank->cpu_ns * 1000),
                                    .lost = lost_outside(*rank),
                                    .preemptions = rank->preemptions});
        }
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            if (const Result<void> done = add_ops(to_id<RankId>(r), result); !done) {
                return unexpected<Error>(done.error());
            }
        }
        for (std::size_t i = 0; i < result.ops.size(); ++i) {
            TracedOp& op = result.ops[i];
            for (const Meeting& meeting : meetings_[i].waiting()) {
                op.data_start = std::max(op.data_start, arrivals_[meeting]);
            }
            op.data_start = std::min(op.data_start, op.end);
        }
        return result;
    }

    std::vector<OpMeetings>& meetings() { return meetings_; }

private:
    // The time of a rank's step outside of ops and of the sum of losses that was not its processor
    // time.
    static Time lost_outside(const RecordedStep& rank) {
        std::int64_t wall_ns = rank.loss_ns - rank.begin_ns;
        std::int64_t cpu_ns = rank.cpu_ns;
        for (const RecordedOp& op : rank.ops) {
            wall_ns -= op.end_ns - op.begin_ns;
            cpu_ns -= op.cpu_ns;
        }
        return Time::picoseconds(std::max<std::int64_t>(wall_ns - cpu_ns, 0) * 1000);
    }

    Result<void> add_ops(RankId rank, MeasuredStep& result) {
        Meetings meetings{program_};
        for (const RecordedOp& recorded : ranks_[index(rank)]->ops) {
            const Op* op = find_op(program_, rank, recorded);
            if (op == nullptr) {
                return fail(fmt::format("rank {}", index(rank)),
                            fmt::format("op {} of slot {} is not in the scenario's program",
                                        recorded.op,
                                        recorded.slot),
                            "the recording is of another scenario");
            }
            const Time start = since(origin_ns_, recorded.begin_ns);
            result.ops.push_back({.rank = rank,
                                  .slot = recorded.slot,
                                  .op = recorded.op,
                                  .start = start,
                                  .data_start = start,
                                  .end = since(origin_ns_, recorded.end_ns)});
            const std::int64_t lost_ns =
                op->kind() == OpKind::kernel
                    ? std::max<std::int64_t>(recorded.end_ns - recorded.begin_ns - recorded.cpu_ns,
                                             0)
                    : 0;
            result.lost.push_back(Time::picoseconds(lost_ns * 1000));
            result.cpu.push_back(Time::picoseconds(recorded.cpu_ns * 1000));
            std::vector<Meeting> met = meetings.of(rank, *op);
            for (const Meeting& meeting : met) {
                Time& arrival = arrivals_[meeting];
                arrival = std::max(arrival, start);
            }
            meetings_.push_back({std::move(met), waits_for_peers(program_, *op)});
        }
        return {};
    }

    const Program& program_;
    std::vector<const RecordedStep*> ranks_;
    std::int64_t origin_ns_ = 0;
    std::map<Meeting, Time> arrivals_;
    std::vector<OpMeetings> meetings_;  // by op
};

// Estimates the losses of transfers in disturbed steps, in two passes. First, the wait for messages
// is limited to the quickest tenth of the waits of equal calls. Then the time of each transfer is
// limited to the median of equal calls: several threads and the kernel share its work, and which of
// them was held up is not visible.
class TransferLosses {
public:
    TransferLosses(const Program& program, std::vector<MeasuredStep>& steps)
        : program_(program), steps_(steps) {}

    void run() {
        std::map<Key, std::vector<double>> idle;
        each_transfer([&](const Key& key, Time takes, Time cpu, Time&) {
            idle[key].push_back(std::max(0.0, (takes - cpu).seconds()));
        });
        std::map<Key, double> least;
        for (const auto& [key, values] : idle) {
            least[key] = nearest_rank_of(values, 10);
        }
        std::map<Key, std::vector<double>> own;
        each_transfer([&](const Key& key, Time takes, Time cpu, Time& lost) {
            const double idle_s = std::max(0.0, (takes - cpu).seconds());
            lost = Time::seconds(std::max(0.0, idle_s - least[key]));
            own[key].push_back((takes - lost).seconds());
        });
        std::map<Key, Time> middle;
        for (const auto& [key, values] : own) {
            middle[key] = Time::seconds(nearest_rank_of(values, 50));
        }
        each_transfer([&](const Key& key, Time takes, Time, Time& lost) {
            lost = std::max(lost, takes - middle[key]);
        });
        forgive_undisturbed();
    }

private:
    using Key = Payload;
    static constexpr Key kLosses{OpKind::host, 0};  // the sum of losses at the step's end

    template <class Visit>
    void each_transfer(const Visit& visit) {
        for (MeasuredStep& step : steps_) {
            for (std::size_t i = 0; i < step.ops.size(); ++i) {
                const TracedOp& traced = step.ops[i];
                const Role& role = program_.roles[index(program_.role_of(traced.rank))];
                const Op& op = program_.segment_of(role.slots[traced.slot]).ops[traced.op];
                if (op.kind() != OpKind::kernel) {
                    visit(op.payload, traced.end - traced.data_start, step.cpu[i], step.lost[i]);
                }
            }
            for (MeasuredStep::OfRank& rank : step.ranks) {
                visit(kLosses, rank.end - rank.loss_data, Time{}, rank.loss_lost);
            }
        }
    }

    void forgive_undisturbed() {
        for (MeasuredStep& step : steps_) {
            if (step.undisturbed()) {
                std::ranges::fill(step.lost, Time{});
                for (MeasuredStep::OfRank& rank : step.ranks) {
                    rank.lost = Time{};
                    rank.loss_lost = Time{};
                }
            }
        }
    }

    const Program& program_;
    std::vector<MeasuredStep>& steps_;
};

const RecordedStep* find_step(const RankRecording& recording, std::int64_t step) {
    const auto found = std::ranges::lower_bound(recording.steps, step, {}, &RecordedStep::step);
    return found != recording.steps.end() && found->step == step ? &*found : nullptr;
}

}  // namespace

Time MeasuredStep::duration() const {
    Time sum;
    for (const OfRank& rank : ranks) {
        sum += rank.end - rank.begin;
    }
    return Time::picoseconds(sum.picoseconds() / static_cast<std::int64_t>(ranks.size()));
}

bool MeasuredStep::undisturbed() const {
    return overlaps ||
           std::ranges::all_of(ranks, [](const OfRank& rank) { return rank.preemptions == 0; });
}

std::span<const TracedOp> MeasuredStep::of_rank(RankId rank) const {
    return ops_of_rank(ops, rank);
}

std::span<const Time> MeasuredStep::lost_of_rank(RankId rank) const {
    const auto found = of_rank(rank);
    return found.empty() ? std::span<const Time>{}
                         : std::span{lost}.subspan(
                               static_cast<std::size_t>(found.data() - ops.data()), found.size());
}

Result<std::vector<MeasuredStep>> measured_steps(const Program& program,
                                                 const std::vector<RankRecording>& recordings,
                                                 bool overlaps) {
    if (recordings.size() != program.num_ranks()) {
        return fail("",
                    fmt::format("{} ranks are recorded, and the scenario has {}",
                                recordings.size(),
                                program.num_ranks()),
                    "the recording is of another scenario");
    }
    std::vector<MeasuredStep> steps;
    std::vector<std::vector<OpMeetings>> meetings;
    for (const RecordedStep& first : recordings.front().steps) {
        std::vector<const RecordedStep*> ranks;
        for (const RankRecording& recording : recordings) {
            if (const RecordedStep* step = find_step(recording, first.step)) {
                ranks.push_back(step);
            }
        }
        if (ranks.size() != recordings.size()) {
            continue;
        }
        StepOfRanks of_ranks{program, std::move(ranks)};
        auto step = of_ranks.measured(overlaps);
        if (!step) {
            return unexpected<Error>(step.error());
        }
        steps.push_back(std::move(*step));
        meetings.push_back(std::move(of_ranks.meetings()));
    }
    if (steps.empty()) {
        return fail("", "no step was recorded by all ranks", "a longer run");
    }
    TransferLosses{program, steps}.run();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        steps[i].replayed =
            overlaps ? steps[i].duration() : replayed_duration(steps[i], meetings[i]);
    }
    return steps;
}

std::vector<const MeasuredStep*> best_steps(const std::vector<MeasuredStep>& steps,
                                            std::size_t enough) {
    std::vector<const MeasuredStep*> best;
    // The first step touches all memory for the first time.
    for (const MeasuredStep& step : steps) {
        if (step.step > 1 || steps.size() == 1) {
            best.push_back(&step);
        }
    }
    std::ranges::stable_sort(best, {}, [](const MeasuredStep* step) { return step->duration(); });
    std::vector<const MeasuredStep*> quiet = best;
    std::erase_if(quiet, [](const MeasuredStep* step) { return !step->undisturbed(); });
    if (quiet.size() >= enough) {
        return quiet;
    }
    best.resize((best.size() + 1) / 2);
    return best;
}

}  // namespace orrery
