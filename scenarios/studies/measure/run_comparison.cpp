// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/run_comparison.h"

#include <algorithm>
#include <map>

#include "engine/base/statistics.h"
#include "scenarios/studies/measure/predicted_run.h"

namespace orrery {
namespace {

std::vector<StepPart> measured_parts(const RecordedRun& run,
                                     const std::vector<const MeasuredStep*>& steps) {
    std::vector<std::vector<StepPart>> lists;
    for (const MeasuredStep* step : steps) {
        for (std::size_t r = 0; r < step->ranks.size(); ++r) {
            const MeasuredStep::OfRank& times = step->ranks[r];
            const RankId rank = to_id<RankId>(r);
            auto parts = parts_of_step(run.program,
                                       {.ops = step->of_rank(rank),
                                        .begin = times.begin,
                                        .end = times.end,
                                        .lost = step->lost_of_rank(rank),
                                        .lost_outside = times.lost + times.loss_lost,
                                        .loss_wait = times.loss_data - times.loss});
            lists.push_back(std::move(parts));
        }
    }
    return mean_parts(lists);
}

// All ranks wait for each other at the end of the step, where the losses are summed.
std::vector<StepPart> predicted_parts(const RecordedRun& run, const PredictedRun& predicted) {
    std::vector<std::vector<StepPart>> lists;
    Time last;
    for (const TracedOp& op : predicted.ops) {
        last = std::max(last, op.end);
    }
    for (std::uint32_t r = 0; r < run.program.num_ranks(); ++r) {
        const auto ops = predicted.of_rank(RankId{r});
        Time own;
        for (const TracedOp& op : ops) {
            own = std::max(own, op.end);
        }
        auto parts = parts_of_step(run.program,
                                   {.ops = ops,
                                    .begin = Time{},
                                    .end = predicted.answer.iteration,
                                    .host_per_op = predicted.host_per_op,
                                    .loss_wait = last - own});
        lists.push_back(std::move(parts));
    }
    return mean_parts(lists);
}

}  // namespace

Result<RunComparison> compare_run(const RecordedRun& run, const std::string& profile_file) {
    const Result<PredictedRun> predicted = predict_run(run.scenario, profile_file);
    if (!predicted) {
        return unexpected<Error>(predicted.error());
    }
    const std::vector<const MeasuredStep*> best = best_steps(run.steps);
    RunComparison result{.scenario = run.scenario.name,
                         .machine = run.description.machine,
                         .ranks = run.description.ranks,
                         .steps = run.steps.size(),
                         .steps_used = best.size(),
                         .parts = {}};
    std::vector<double> all;
    for (const MeasuredStep& step : run.steps) {
        result.undisturbed += step.undisturbed() ? 1 : 0;
        if (step.step > 1 || run.steps.size() == 1) {
            all.push_back(step.duration().seconds());
        }
    }
    std::ranges::sort(all);
    result.all_median_s = quantile(all, 0.5);
    result.all_spread = quartile_spread(all, result.all_median_s);
    std::vector<double> replayed;
    for (const MeasuredStep* step : best) {
        replayed.push_back(step->replayed.seconds());
        for (const MeasuredStep::OfRank& rank : step->ranks) {
            result.cpu_s +=
                rank.cpu.seconds() / static_cast<double>(best.size() * step->ranks.size());
        }
    }
    std::ranges::sort(replayed);
    result.replayed_s = quantile(replayed, 0.5);
    result.replayed_spread = quartile_spread(replayed, result.replayed_s);
    std::map<std::pair<PartKind, std::string>, ComparedPart> parts;
    for (const StepPart& part : measured_parts(run, best)) {
        parts[{part.kind, part.name}] = {part.kind, part.name, part.runs, part.seconds, 0};
        result.measured_s += part.seconds;
    }
    for (const StepPart& part : predicted_parts(run, *predicted)) {
        ComparedPart& compared = parts[{part.kind, part.name}];
        compared.kind = part.kind;
        compared.name = part.name;
        compared.runs = std::max(compared.runs, part.runs);
        compared.predicted_s = part.seconds;
        result.predicted_s += part.seconds;
    }
    for (const auto& [key, part] : parts) {
        result.parts.push_back(part);
    }
    std::ranges::stable_sort(result.parts, [](const ComparedPart& a, const ComparedPart& b) {
        return a.kind != b.kind ? a.kind < b.kind : a.measured_s > b.measured_s;
    });
    result.uncertainty = predicted->answer.uncertainty;
    result.unprofiled_cpu = predicted->answer.unprofiled_cpu;
    result.predicted_memory = predicted->tensor_memory;
    for (const RankRecording& rank : run.ranks) {
        result.allocated_memory = std::max(result.allocated_memory, Bytes{rank.arena_bytes});
        result.resident_memory = std::max(result.resident_memory, Bytes{rank.resident_bytes});
    }
    return result;
}

}  // namespace orrery
