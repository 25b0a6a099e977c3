// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/plain_steps.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "models/lowering/lowering.h"
#include "scenarios/studies/search/plan_timer.h"
#include "scenarios/studies/simulate/memory_overheads.h"
#include "scenarios/studies/simulate/program_order.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Shrinks the job to few replicas with the same batch each. The relative effect of an assumption
// stays the same and takes a fraction of the time to simulate.
void take_few_replicas(Scenario& scenario) {
    constexpr std::int64_t kReplicas = 8;
    ParallelPlan& plan = scenario.plan;
    const std::int64_t replicas = plan.data_parallel_size;
    if (plan.hsdp_shard_size > 0) {
        return;
    }
    for (std::int64_t few = kReplicas; few < replicas; ++few) {
        const std::int64_t nodes = scenario.cluster.num_nodes * few;
        if (nodes % replicas == 0 && plan.global_batch_size * few % replicas == 0) {
            scenario.cluster.num_nodes = static_cast<std::uint32_t>(nodes / replicas);
            plan.global_batch_size = plan.global_batch_size * few / replicas;
            plan.data_parallel_size = few;
            return;
        }
    }
}

// Replaces ECMP by spraying. With hashed paths two channels may share a link by chance; equal ranks
// then take different times and are simulated one by one. The effect of an assumption does not
// depend on that chance.
void spray_packets(FabricSpec& fabric) {
    if (fabric.kind != FabricKind::file && fabric.routing == RoutingKind::ecmp) {
        fabric.routing = RoutingKind::spray;
    }
}

// Sends an equal number of tokens to each expert. Drawn numbers differ from rank to rank, so that
// all ranks are simulated one by one. No assumed column changes the router.
void balance_experts(ParallelPlan& plan) {
    plan.moe_router_load =
        is_even(plan.moe_router_load) ? plan.moe_router_load : RouterLoad::balanced;
    plan.moe_router_load_trace.clear();
}

// Step without contention, equal to the simulation's to the picosecond. Nothing if the plan's step
// does not fold (PlanTimer).
std::optional<Time> folded_step(const Scenario& scenario, const CostTables& tables) {
    if (scenario.devices.size() > 1 || runs_in_program_order(scenario.device)) {
        return std::nullopt;
    }
    const Result<std::unique_ptr<ClusterCosts>> made =
        ClusterCosts::make(scenario.cluster, scenario.device, tables.curves, tables.step);
    if (!made) {
        return std::nullopt;
    }
    const ClusterCosts& costs = **made;
    PlanTimer timer{scenario.model,
                    costs.network(),
                    [&](const Program& program) { return costs.slowest_device(program); },
                    [&](const ParallelPlan& plan) { return costs.launch_cost(plan); },
                    costs.restart()};
    const auto step = timer.step_of(scenario.plan);
    return step ? std::optional{*step + costs.step()} : std::nullopt;
}

// Step in seconds without contention. Nothing if it does not fit in memory or cannot be simulated.
std::optional<double> plain_step(const Scenario& scenario, const CostTables& tables, bool fits) {
    if (const std::optional<Time> step = folded_step(scenario, tables)) {
        const auto memory_fits = [&] {
            const auto use = whole_memory_use(lower(scenario.model, scenario.plan), scenario);
            return use && use->fits;
        };
        return !fits || memory_fits() ? std::optional{step->seconds()} : std::nullopt;
    }
    const Result<Answer> found =
        simulate_scenario(scenario, {.step_table = tables.step, .only_if_fits = fits});
    return found && (found->memory.fits || !fits) ? std::optional{found->iteration.seconds()}
                                                  : std::nullopt;
}

}  // namespace

PlainSteps::Known::Known(Scenario few, bool whether_fits)
    : scenario(std::move(few)),
      step{scenario.cluster, scenario.device, scenario.model, scenario.plan, whether_fits} {}

PlainSteps::Known& PlainSteps::find(Scenario scenario, bool fits) {
    scenario.network = NetworkFidelity::analytic;
    spray_packets(scenario.cluster.fabric);
    take_few_replicas(scenario);
    balance_experts(scenario.plan);
    const PlainStep step{scenario.cluster, scenario.device, scenario.model, scenario.plan, fits};
    const std::scoped_lock lock(mutex_);
    const auto at = std::ranges::find(steps_, step, &Known::step);
    return at != steps_.end() ? *at : steps_.emplace_back(std::move(scenario), fits);
}

// Waits for another thread that has begun the step.
std::optional<double> PlainSteps::seconds_of(Known& known) {
    known.begun = true;
    std::call_once(known.once,
                   [&] { known.seconds = plain_step(known.scenario, tables_, known.step.fits); });
    return known.seconds;
}

std::optional<double> PlainSteps::of(const Scenario& scenario, bool fits) {
    return seconds_of(find(scenario, fits));
}

std::vector<std::optional<double>> PlainSteps::of_each(
    const std::vector<std::optional<Scenario>>& scenarios, bool fits) {
    std::vector<Known*> steps;
    for (const std::optional<Scenario>& scenario : scenarios) {
        steps.push_back(scenario ? &find(*scenario, fits) : nullptr);
    }
    for (Known* step : steps) {
        if (step != nullptr && !step->begun.exchange(true)) {
            seconds_of(*step);
        }
    }
    std::vector<std::optional<double>> seconds;
    for (Known* step : steps) {
        seconds.push_back(step == nullptr ? std::nullopt : seconds_of(*step));
    }
    return seconds;
}

}  // namespace orrery
