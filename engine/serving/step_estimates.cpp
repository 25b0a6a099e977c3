// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/step_estimates.h"

#include <algorithm>
#include <numeric>

#include "engine/serving/layer_wise.h"

namespace orrery {

namespace {

// Estimates round tokens up to whole tiles, so that few sizes must be priced.
constexpr std::int64_t kTile = 64;

Time sum_of(const std::vector<Time>& times) {
    return std::accumulate(times.begin(), times.end(), Time{});
}

}  // namespace

StepEstimates::StepEstimates(StepCost& cost,
                             const SchedulerLimits& limits,
                             std::int64_t layers,
                             Time load_of_token)
    : cost_(cost),
      limits_(limits),
      layers_(layers),
      load_of_token_(load_of_token),
      stages_(cost.num_stages()) {}

Time StepEstimates::time_of(const SequenceStep& step) {
    const Batch batch{.steps = {step}, .preempted = {}, .admitted = {}, .loads = {}};
    std::fill(stages_.begin(), stages_.end(), Time{});
    cost_.times(batch, stages_);
    return sum_of(stages_);
}

Time StepEstimates::prompt(const PendingPrompt& prompt) {
    Time sum;
    const std::int64_t chunk = limits_.max_num_batched_tokens;
    for (std::int64_t done = 0; done < prompt.tokens; done += chunk) {
        const std::int64_t left = std::min(chunk, prompt.tokens - done);
        const std::int64_t tokens = std::min(chunk, (left + kTile - 1) / kTile * kTile);
        sum += time_of({.new_tokens = tokens,
                        .context = prompt.context + done,
                        .samples = done + chunk >= prompt.tokens});
    }
    return sum;
}

Time StepEstimates::queued(const BatchScheduler& instance) {
    Time sum;
    for (const PendingPrompt& pending : instance.pending_prompts()) {
        sum += prompt(pending);
    }
    const Time under_way = prompt({.tokens = instance.tokens_under_way(), .context = 0});
    return sum + Time::picoseconds(under_way.picoseconds() / 2);
}

Time StepEstimates::first_token(const Request& request, const BatchScheduler& instance) {
    const std::int64_t found = instance.prefix_tokens(request);
    const std::int64_t in_cache =
        std::min(found,
                 instance.pool().cached_prefix(request.prefix_hashes) *
                     instance.limits().block_size);
    const Time computation = prompt({.tokens = request.prompt_tokens - found, .context = found});
    return queued(instance) +
           layer_wise_time(computation, load_of_token_ * (found - in_cache), layers_);
}

Time StepEstimates::generation(const Generating& sequences) {
    if (sequences.sequences == 0) {
        return {};
    }
    Batch batch;
    const SequenceStep step{.new_tokens = 1,
                            .context = sequences.context / sequences.sequences,
                            .samples = true};
    batch.steps.assign(static_cast<std::size_t>(sequences.sequences), step);
    std::fill(stages_.begin(), stages_.end(), Time{});
    cost_.times(batch, stages_);
    // Stages work on different batches at the same time; a token of a sequence passes all of them.
    return sum_of(stages_);
}

}  // namespace orrery
