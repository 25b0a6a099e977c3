// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_policies.h"

#include <algorithm>
#include <cmath>

#include "scenarios/studies/serve/served_faults.h"

namespace orrery {

Time scaled_start_up(const Scenario& scenario,
                     const ServingSpec& spec,
                     const ServingPoolSpec& pool) {
    ServingSpec from = spec;
    if (spec.autoscaler.weights == WeightSource::peer) {
        const FabricSpec& fabric = scenario.cluster.fabric;
        const auto nics = static_cast<double>(std::max(1U, scenario.cluster.nics_per_server()));
        from.recovery.weight_loading = Bandwidth::bits_per_second(static_cast<std::int64_t>(
            nics * static_cast<double>(fabric.nic_bandwidth.bits_per_second()) *
            fabric.efficiency));
    }
    return start_up_of(from, pool, scenario.model, scenario.cluster.gpus_per_server());
}

std::uint16_t prompts_for_all_ranks(const ServingPoolSpec& pool) {
    const std::int64_t ranks = pool.role == PoolRole::aggregated ? pool.plan.data_parallel_size : 1;
    double prompts = 0;
    for (std::int64_t rank = 1; rank <= ranks; ++rank) {
        prompts += static_cast<double>(ranks) / static_cast<double>(rank);
    }
    return static_cast<std::uint16_t>(std::lround(prompts));
}

Scenario at_clock(Scenario scenario, double clock) {
    const auto slow = [&](FlopRate& peak) {
        peak = FlopRate::per_second(peak.per_second() * clock);
    };
    DeviceSpec& device = scenario.device;
    for (FlopRate* peak :
         {&device.peak_fp32, &device.peak_fp16, &device.peak_fp8, &device.peak_fp4}) {
        slow(*peak);
    }
    return scenario;
}

ServingPolicies policies_of(const Scenario& scenario,
                            const ServingSpec& spec,
                            std::span<const ServingPool> pools,
                            const FabricTransport* transport) {
    ServingPolicies policies;
    for (std::size_t i = 0; i < pools.size(); ++i) {
        const bool loads = i == 0 && !spec.cache.tiers.empty() && transport != nullptr;
        policies.estimates.push_back(std::make_unique<StepEstimates>(
            *pools[i].cost,
            pools[i].limits,
            pools[i].layers,
            loads ? transport->load_of_token(spec.cache.tiers.front().kind) : Time{}));
    }
    policies.admission =
        make_admission(spec.admission,
                       spec.objectives.ttft,
                       spec.objectives.tbt > Time{} ? spec.objectives.tbt : spec.objectives.tpot);
    policies.power = make_power_policy(spec.power.policy);
    if (policies.power != nullptr) {
        std::int64_t instances = 0;
        for (const ServingPoolSpec& pool : spec.pools) {
            instances += pool.instances;
        }
        policies.row = {.policy = policies.power.get(),
                        .limit_watts = spec.power.limit_watts,
                        .first_low = static_cast<std::size_t>(std::llround(
                            static_cast<double>(instances) * (1 - spec.power.low_priority_share))),
                        .idle_watts = spec.idle_watts,
                        .busy_watts = spec.busy_watts};
    }
    policies.autoscaler = make_autoscaler(spec.autoscaler.policy, spec.autoscaler.target);
    if (policies.autoscaler == nullptr) {
        return policies;
    }
    policies.scaling = {.policy = policies.autoscaler.get(),
                        .interval = spec.autoscaler.interval,
                        .scale_down_delay = spec.autoscaler.scale_down_delay,
                        .pools = {},
                        .first_token = spec.objectives.ttft,
                        .output_token = spec.objectives.tpot};
    for (const ServingPoolSpec& pool : spec.pools) {
        policies.scaling.pools.push_back(
            {.min_instances = std::min(spec.autoscaler.min_instances, pool.instances),
             .start_up = scaled_start_up(scenario, spec, pool)});
    }
    return policies;
}

void report_row(const ServingResult& served, const ServingSpec& spec, ServingAnswer& answer) {
    if (spec.power.policy == "none" || served.end <= Time{}) {
        return;
    }
    answer.row = ServingAnswer::Row{.mean_watts = served.row.joules / served.end.seconds(),
                                    .peak_watts = served.row.peak_watts,
                                    .limit_watts = spec.power.limit_watts,
                                    .capped = served.row.capped,
                                    .brakes = served.row.brakes};
}

void report_instances(const ServingResult& served, const ServingSpec& spec, ServingAnswer& answer) {
    std::size_t first = 0;
    const double makespan_s = answer.makespan.seconds();
    for (std::size_t p = 0; p < spec.pools.size(); ++p) {
        const ServingPoolSpec& pool = spec.pools[p];
        const auto ranks = static_cast<double>(pool.plan.num_ranks());
        const auto end = first + static_cast<std::size_t>(pool.instances);
        ServingAnswer::ScaledPool scaled;
        scaled.role = pool.role;
        for (const ServingResult::InstanceCount& count : served.instance_counts) {
            if (count.pool == p &&
                (scaled.timeline.empty() || scaled.timeline.back().second != count.serving)) {
                scaled.timeline.emplace_back(count.at.seconds(), count.serving);
            }
        }
        if (scaled.timeline.empty()) {
            answer.gpu_hours += ranks * static_cast<double>(pool.instances) * makespan_s / 3600;
            first = end;
            continue;
        }
        for (; first < end; ++first) {
            answer.gpu_hours += ranks * served.instance_times[first].seconds() / 3600;
        }
        scaled.least = scaled.most = scaled.timeline.front().second;
        // If no request was served, the run ends at its begin.
        const double last_s = served.end.seconds();
        scaled.mean = last_s > 0 ? 0 : static_cast<double>(scaled.least);
        for (std::size_t i = 0; i < scaled.timeline.size(); ++i) {
            const auto [at, serving] = scaled.timeline[i];
            const double until =
                i + 1 < scaled.timeline.size() ? scaled.timeline[i + 1].first : last_s;
            scaled.least = std::min(scaled.least, serving);
            scaled.most = std::max(scaled.most, serving);
            const double share = last_s > 0 ? std::max(0.0, until - at) / last_s : 0;
            scaled.mean += share * static_cast<double>(serving);
        }
        answer.scaled.push_back(std::move(scaled));
    }
}

}  // namespace orrery
