// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_trials.h"

#include "engine/base/parallel.h"
#include "scenarios/studies/search/plan_goodput.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Hash of the fields that decide the chunks. Plans with equal hashes go to one timer, which lowers
// common chunks once.
std::size_t kin_of(const ParallelPlan& plan) {
    std::size_t hash = 0;
    for (const std::int64_t size : {plan.tensor_model_parallel_size,
                                    plan.context_parallel_size,
                                    plan.micro_batch_size,
                                    static_cast<std::int64_t>(plan.recompute_granularity)}) {
        hash = hash * 31 + static_cast<std::size_t>(size);
    }
    return hash;
}

}  // namespace

PlanTrials::PlanTrials(const Scenario& scenario,
                       const SearchSpec& spec,
                       std::span<const std::unique_ptr<ClusterCosts>> costs,
                       std::uint32_t jobs,
                       std::optional<EfficiencyTable> step_table)
    : scenario_(scenario),
      spec_(spec),
      costs_(costs),
      jobs_(jobs == 0 ? usable_cores() : jobs),
      step_table_(std::move(step_table)),
      timers_(costs.size() * jobs_) {}

PlanTimer& PlanTrials::timer_of(std::size_t cluster, std::size_t thread) {
    auto& timer = timers_[cluster * jobs_ + thread];
    if (!timer) {
        const ClusterCosts& costs = *costs_[cluster];
        timer = std::make_unique<PlanTimer>(
            scenario_.model,
            costs.network(),
            [&costs](const Program& program) { return costs.slowest_device(program); },
            [&costs](const ParallelPlan& plan) { return costs.launch_cost(plan); },
            costs.restart());
    }
    return *timer;
}

std::vector<std::optional<Time>> PlanTrials::folded_steps(std::span<const Candidate* const> plans) {
    std::vector<std::optional<Time>> steps(plans.size());
    for_each_index(jobs_, jobs_, [&](std::size_t thread) {
        for (std::size_t i = 0; i < plans.size(); ++i) {
            // Folded steps exist for one kind of device only.
            const bool one_kind = costs_[plans[i]->cluster]->num_kinds() == 1;
            if (one_kind && kin_of(plans[i]->plan) % jobs_ == thread) {
                const auto step = timer_of(plans[i]->cluster, thread).step_of(plans[i]->plan);
                steps[i] =
                    step ? std::optional{*step + costs_[plans[i]->cluster]->step()} : std::nullopt;
            }
        }
    });
    return steps;
}

PlanTrials::Trial PlanTrials::simulate(const Candidate& plan, NetworkFidelity network) const {
    Scenario scenario = scenario_;
    scenario.cluster = spec_.clusters[plan.cluster].cluster;
    scenario.device = spec_.clusters[plan.cluster].device;
    scenario.devices = spec_.clusters[plan.cluster].devices;
    scenario.plan = plan.plan;
    scenario.network = network;
    Trial trial{.answer = simulate_scenario(with_faults_of_step(scenario, spec_.objective),
                                            {.step_table = step_table_, .only_if_fits = true})};
    const bool counts =
        spec_.objective == Objective::goodput && network == scenario_.network && trial.answer;
    if (counts && trial.answer->memory.fits) {
        const Result<double> goodput =
            plan_goodput(std::move(scenario), trial.answer->iteration, spec_.seeds);
        if (goodput) {
            trial.goodput = *goodput;
        } else {
            trial.answer = tl::unexpected(goodput.error());
        }
    }
    return trial;
}

std::vector<PlanTrials::Trial> PlanTrials::simulate(std::span<const Candidate* const> plans,
                                                    NetworkFidelity network) {
    // SimGrid has one engine per process.
    const std::uint32_t threads = network == NetworkFidelity::simgrid ? 1 : jobs_;
    std::vector<Trial> trials(plans.size());
    for_each_index(
        plans.size(), threads, [&](std::size_t i) { trials[i] = simulate(*plans[i], network); });
    return trials;
}

}  // namespace orrery
