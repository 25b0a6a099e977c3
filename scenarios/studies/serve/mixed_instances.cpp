// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/mixed_instances.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "scenarios/studies/serve/cache_blocks.h"

namespace orrery {

namespace {

// Time of a step that generates one token on a context of 2,048: the measure by which instances are
// compared.
Time generation_time(ServingPrices& prices) {
    constexpr std::int64_t kContext = 2048;
    const Batch batch{.steps = {{.new_tokens = 1, .context = kContext, .samples = true}},
                      .preempted = {},
                      .admitted = {},
                      .loads = {}};
    std::vector<Time> stages(prices.num_stages());
    prices.times(batch, stages);
    return std::accumulate(stages.begin(), stages.end(), Time{});
}

// The cluster with this kind's devices in the place of the first kind's.
Scenario with_devices_of(const Scenario& scenario, std::uint32_t kind) {
    Scenario of = scenario;
    of.device = scenario.device_of_kind(kind);
    of.cluster.node = scenario.cluster.kind(kind).node;
    return of;
}

}  // namespace

bool has_mixed_instances(const Scenario& scenario, const ServingSpec& spec) {
    return scenario.cluster.num_kinds() > 1 && !spec.has_chain();
}

Result<void> check_kinds(const Scenario& scenario, const ServingSpec& spec) {
    if (!has_mixed_instances(scenario, spec)) {
        return {};
    }
    for (const auto& [given, what] : {std::pair{spec.pools.size() > 1, "two pools"},
                                      std::pair{!spec.cache.tiers.empty(), "tiers below the cache"},
                                      std::pair{spec.autoscaler.policy != "none", "an autoscaler"},
                                      std::pair{spec.power.policy != "none", "a limit of power"},
                                      std::pair{spec.speculation.draft_tokens > 0, "speculation"},
                                      std::pair{spec.encoder.present(), "an encoder"},
                                      std::pair{!scenario.faults.processes.empty(), "faults"}}) {
        if (given) {
            return fail(scenario.cluster_where,
                        fmt::format("{} and nodes of several kinds do not go together", what),
                        "one kind of nodes, or one aggregated pool without it");
        }
    }
    return {};
}

Result<MixedInstances> MixedInstances::make(const Scenario& scenario,
                                            const ServingSpec& spec,
                                            const ServingPoolSpec& pool) {
    MixedInstances mixed;
    mixed.prices_.resize(scenario.cluster.num_kinds());
    std::vector<ServingPool::Instance> of_kind(mixed.prices_.size());
    const auto ranks = static_cast<std::uint32_t>(pool.plan.num_ranks());
    Time first;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(pool.instances); ++i) {
        const std::uint32_t kind = scenario.cluster.kind_of_rank(i * ranks);
        if (scenario.cluster.kind_of_rank((i + 1) * ranks - 1) != kind) {
            return fail(scenario.cluster_where,
                        fmt::format("instance {} lies on nodes of two kinds", i),
                        "kinds whose GPUs are a multiple of an instance's, or a chain");
        }
        if (mixed.prices_[kind] == nullptr) {
            const Scenario own = with_devices_of(scenario, kind);
            auto prices =
                ServingPrices::make(own, scenario.model, pool.plan, spec.engine, i * ranks);
            if (!prices) {
                return tl::unexpected(prices.error());
            }
            (*prices)->start_cold(spec.cold_start);
            std::int64_t blocks = pool.limits.num_blocks;
            if (blocks == 0) {
                const auto fit = cache_blocks(spec, pool, scenario.model, own.device);
                if (!fit) {
                    return tl::unexpected(fit.error());
                }
                blocks = *fit;
            }
            const Time step = generation_time(**prices);
            first = first == Time{} ? step : first;
            of_kind[kind] = {.cost = prices->get(),
                             .num_blocks = blocks,
                             .relative_time = first > Time{} ? step / first : 1};
            mixed.prices_[kind] = std::move(*prices);
        }
        mixed.instances_.push_back(of_kind[kind]);
    }
    return mixed;
}

}  // namespace orrery
