// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/degraded_steps.h"

#include <algorithm>

#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

constexpr double kSlowFactor = 1.1;  // MegaScale's slow hosts

struct UnitLayout {  // layout of a plan on nodes
    JobShape shape;
    std::int64_t replicas_per_unit = 1;
};

UnitLayout layout_of(const Scenario& scenario) {
    const ParallelPlan& plan = scenario.plan;
    // Servers of the job. Trays count one by one, although they share an NVLink domain, because
    // they fail and are replaced alone. The last server may have GPUs that the job does not use.
    const std::int64_t gpus = std::max(1U, scenario.cluster.gpus_per_server());
    const std::int64_t nodes = (scenario.cluster.num_ranks() + gpus - 1) / gpus;
    const std::int64_t stages = plan.pipeline_model_parallel_size;
    const std::int64_t dp = plan.data_parallel_size;
    const std::int64_t part = plan.tensor_model_parallel_size * plan.context_parallel_size;
    UnitLayout layout;
    layout.shape = {.slots = static_cast<std::uint32_t>(nodes)};
    const bool hybrid = plan.hsdp_shard_size > 0 && plan.hsdp_shard_size < dp;
    layout.shape.state_sharded = plan.shards_optimizer() && !hybrid;
    const auto set = [&](std::int64_t units, std::int64_t stages_apart, std::int64_t per_place) {
        layout.shape.units = static_cast<std::uint32_t>(units);
        layout.shape.stages = static_cast<std::uint32_t>(stages_apart);
        layout.shape.nodes_per_place = static_cast<std::uint32_t>(per_place);
        layout.replicas_per_unit = dp / units;
    };
    if (!plan.stage_tensor_model_parallel_sizes.empty()) {
        return layout;  // stages may be on different numbers of servers
    }
    if (plan.rank_order == RankOrder::tp_cp_pp_dp) {
        // The ranks of a replica are consecutive.
        const std::int64_t replica = part * stages;
        if (replica % gpus == 0) {
            const bool apart = part % gpus == 0;
            set(dp, apart ? stages : 1, apart ? part / gpus : replica / gpus);
        } else if (gpus % replica == 0 && scenario.cluster.num_ranks() % gpus == 0) {
            set(nodes, 1, 1);
        }
        return layout;
    }
    // The ranks of a stage are consecutive, with its replicas side by side.
    layout.shape.unit_major = false;
    if (part % gpus == 0) {
        set(dp, stages, part / gpus);
    } else if (gpus % part == 0 && part * dp % gpus == 0) {
        set(part * dp / gpus, stages, 1);
    } else {
        layout.shape.unit_major = true;
    }
    return layout;
}

Result<Answer> simulated(const Scenario& scenario, const DegradedStepsOptions& options) {
    SimulationOptions simulation;
    simulation.progress = options.progress;
    return simulate_scenario(scenario, simulation);
}

// Rate of the job without one unit, relative to the healthy one. The other units do the same work
// as before.
Result<double> shrunk_rate(const Scenario& scenario,
                           const UnitLayout& layout,
                           Time healthy,
                           const DegradedStepsOptions& options) {
    Scenario smaller = scenario;
    const std::int64_t dp = scenario.plan.data_parallel_size;
    const std::int64_t left = dp - layout.replicas_per_unit;
    ClusterSpec& cluster = smaller.cluster;
    const std::uint32_t ranks =
        cluster.num_ranks() - layout.shape.slots / layout.shape.units * cluster.gpus_per_server();
    cluster.num_nodes = (ranks + cluster.node.gpus_per_node - 1) / cluster.node.gpus_per_node;
    cluster.use_gpus(ranks);
    smaller.plan.data_parallel_size = left;
    smaller.plan.global_batch_size = scenario.plan.global_batch_size / dp * left;
    const Result<Answer> answer = simulated(smaller, options);
    if (!answer) {
        return unexpected<Error>(answer.error());
    }
    const double batch = static_cast<double>(left) / static_cast<double>(dp);
    return batch * (healthy / answer->iteration);
}

}  // namespace

JobShape job_shape(const Scenario& scenario) {
    return layout_of(scenario).shape;
}

Result<DegradedSteps> degraded_steps(const Scenario& given, const DegradedStepsOptions& options) {
    Scenario scenario = given;
    scenario.faults = {};
    const UnitLayout layout = layout_of(scenario);
    DegradedSteps steps;
    steps.speed.micro_batches =
        static_cast<std::uint32_t>(std::max<std::int64_t>(1, scenario.plan.num_micro_batches()));
    const double one = layout.shape.units > 1 ? 1.0 - 1.0 / layout.shape.units : 0.0;
    steps.speed.shrunk = {1.0, one};
    if (scenario.campaign.step_time) {
        // The other steps are unknown: the whole step waits for a slow node.
        steps.speed.step = *scenario.campaign.step_time;
        return steps;
    }
    const Result<Answer> healthy = simulated(scenario, options);
    if (!healthy) {
        return unexpected<Error>(healthy.error());
    }
    steps.simulated = true;
    steps.speed.step = WallTime::of(healthy->iteration);
    steps.mfu = healthy->mfu;
    for (const Cause cause : {Cause::exposed_data, Cause::exposed_pipeline, Cause::exposed_other}) {
        steps.exposed += healthy->critical_path[cause] / healthy->iteration;
    }
    for (const LinkUse& use : healthy->network) {
        steps.network_busy = use.link_class == "nic" ? use.mean : steps.network_busy;
    }
    if (options.slow) {
        Scenario slow = scenario;
        slow.faults.processes = {{.name = "slow",
                                  .kind = FaultKind::slow_host,
                                  .at = {Scope::node, 0},
                                  .once = WallTime{},
                                  .factor = kSlowFactor}};
        const Result<Answer> answer = simulated(slow, options);
        if (!answer) {
            return unexpected<Error>(answer.error());
        }
        steps.speed.slow_slope =
            std::max(0.0, (answer->iteration / healthy->iteration - 1) / (kSlowFactor - 1));
    }
    if (options.shrunk && layout.shape.units > 1) {
        const Result<double> rate = shrunk_rate(scenario, layout, healthy->iteration, options);
        if (!rate) {
            return unexpected<Error>(rate.error());
        }
        steps.speed.shrunk = {1.0, *rate};
    }
    return steps;
}

}  // namespace orrery
