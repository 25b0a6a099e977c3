// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/layer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/plan/validate_plan.h"
#include "scenarios/studies/search/largest_fit.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// The scenario with this number of recomputed layers in each virtual stage.
Scenario with_recomputed(Scenario scenario, std::int64_t layers) {
    ParallelPlan& plan = scenario.plan;
    plan.recompute_granularity = layers > 0 ? Recompute::full : Recompute::none;
    plan.recompute_method = layers > 0 ? RecomputeMethod::block : RecomputeMethod::uniform;
    plan.recompute_num_layers = std::max<std::int64_t>(layers, 1);
    return scenario;
}

std::int64_t layers_of_longest_stage(const Scenario& scenario) {
    const ParallelPlan& plan = scenario.plan;
    if (!plan.pipeline_layout.empty()) {
        return std::ranges::max(plan.pipeline_layout);
    }
    const std::int64_t stages = plan.pipeline_model_parallel_size * plan.chunks_of_stage();
    return (scenario.model.num_layers + stages - 1) / stages;
}

Result<MemoryUse> memory_with(const Scenario& scenario, std::int64_t layers) {
    const Scenario changed = with_recomputed(scenario, layers);
    const ParallelPlan& plan = changed.plan;
    const Errors errors =
        check(changed.model, plan, plan.model_parallel_size() * plan.data_parallel_size);
    return errors.empty() ? memory_of_step(changed)
                          : Result<MemoryUse>{tl::unexpected(errors.front())};
}

// The fewest recomputed layers that fit, if `all` fit.
Result<std::int64_t> fewest_that_fit(const Scenario& scenario, std::int64_t all) {
    std::int64_t fails = -1;
    std::int64_t fits = all;
    while (fits - fails > 1) {
        const std::int64_t middle = fails + (fits - fails) / 2;
        const Result<MemoryUse> use = memory_with(scenario, middle);
        if (!use) {
            return tl::unexpected(use.error());
        }
        (use->fits ? fits : fails) = middle;
    }
    return fits;
}

}  // namespace

Result<LayerPlan> plan_layers(const Scenario& scenario) {
    LayerPlan plan{.layers = layers_of_longest_stage(scenario)};
    const Result<MemoryUse> least = memory_with(scenario, plan.layers);
    if (!least) {
        return tl::unexpected(least.error());
    }
    if (!least->fits) {
        return fail(scenario.cluster_where,
                    fmt::format("even if all layers run again, the plan takes {:.1f} GB of {:.1f}",
                                static_cast<double>(least->needed().count()) * 1e-9,
                                static_cast<double>(least->device.count()) * 1e-9),
                    "a plan that shards or offloads more");
    }
    const Result<std::int64_t> fewest = fewest_that_fit(scenario, plan.layers);
    if (!fewest) {
        return tl::unexpected(fewest.error());
    }
    plan.recomputed = *fewest;
    plan.set = {fmt::format("plan.recompute_granularity={}", *fewest > 0 ? "full" : "none")};
    if (*fewest > 0) {
        plan.set.emplace_back("plan.recompute_method=block");
        plan.set.push_back(fmt::format("plan.recompute_num_layers={}", *fewest));
    }
    Result<Answer> answer = simulate_scenario(with_recomputed(scenario, *fewest));
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    Result<Answer> all = simulate_scenario(with_recomputed(scenario, plan.layers));
    if (!all) {
        return tl::unexpected(all.error());
    }
    plan.answer = std::move(*answer);
    plan.all_recomputed = std::move(*all);
    return plan;
}

}  // namespace orrery
