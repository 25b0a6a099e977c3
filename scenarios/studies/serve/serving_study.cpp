// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "engine/serving/run_clock.h"
#include "scenarios/studies/serve/cache_blocks.h"
#include "scenarios/studies/serve/cache_transport.h"
#include "scenarios/studies/serve/chain_prices.h"
#include "scenarios/studies/serve/host_times.h"
#include "scenarios/studies/serve/image_load.h"
#include "scenarios/studies/serve/mixed_instances.h"
#include "scenarios/studies/serve/served_faults.h"
#include "scenarios/studies/serve/served_latencies.h"
#include "scenarios/studies/serve/serving_policies.h"
#include "scenarios/studies/serve/serving_prices.h"
#include "scenarios/studies/serve/serving_tiers.h"
#include "scenarios/studies/serve/slowdown.h"

namespace orrery {

namespace {

void add_parts(const ServingResult& result, ServingAnswer& answer) {
    for (std::size_t i = 0; i < kRequestParts.size(); ++i) {
        std::vector<double> seconds;
        for (const RequestRecord& record : result.records) {
            if (record.finished()) {
                seconds.push_back((times_of(record).*kRequestParts[i].time).seconds());
            }
        }
        answer.parts_s[i] = latency_summary(std::move(seconds));
    }
}

double cached_share(const ServingResult& result, const std::vector<Request>& requests) {
    std::int64_t prompts = 0;
    std::int64_t cached = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        prompts += requests[i].prompt_tokens;
        cached += result.records[i].cached_tokens;
    }
    return prompts == 0 ? 0 : static_cast<double>(cached) / static_cast<double>(prompts);
}

// Use of a pool whose instances have the numbers from `first` on.
ServingAnswer::Pool use_of(const ServingResult& result,
                           const ServingPool& pool,
                           PoolRole role,
                           std::size_t first,
                           double makespan_s) {
    ServingAnswer::Pool use{.role = role,
                            .instances = static_cast<std::int64_t>(pool.num_instances),
                            .cache_tokens = pool.limits.num_blocks * pool.limits.block_size};
    for (const ServingPool::Instance& one : pool.instances) {
        use.cache_tokens = std::max(use.cache_tokens, one.num_blocks * pool.limits.block_size);
    }
    std::int64_t tokens = 0;
    Time busy;
    for (std::size_t i = first; i < first + pool.num_instances; ++i) {
        const InstanceTotals& totals = result.instances[i];
        use.batches += totals.batches;
        tokens += totals.computed_tokens;
        busy += totals.busy;
        use.drafted_tokens += totals.drafted_tokens;
        use.accepted_tokens += totals.accepted_tokens;
        use.most_cache_tokens =
            std::max(use.most_cache_tokens, totals.most_blocks * pool.limits.block_size);
    }
    if (use.batches > 0) {
        use.mean_batch = static_cast<double>(tokens) / static_cast<double>(use.batches);
        use.busy = busy.seconds() / makespan_s / static_cast<double>(pool.num_instances);
    }
    return use;
}

// The objects that a run needs.
struct Serving {
    std::vector<std::unique_ptr<ServingPrices>> prices;
    std::unique_ptr<ChainPrices> chain;  // replaces them for a chain of layers
    MixedInstances mixed;                // for nodes of several kinds
    std::vector<std::unique_ptr<ServingPrices>> slower_prices;
    std::vector<std::unique_ptr<RequestRouter>> routers;
    std::vector<ServingPool> pools;
    std::unique_ptr<FabricTransport> transport;  // between two pools, or for tiers
    std::unique_ptr<CacheTiers> tiers;
    ServingPolicies policies;
    ServedFaults faults;
    ServingParts parts;
    std::int64_t layer_wise_tokens = 0;  // copied from ServingSpec
    bool streams_from_generation = false;
};

// The draft model runs on the ranks of the first stage.
Result<void> add_draft(const Scenario& scenario,
                       const ServingSpec& spec,
                       const ServingPoolSpec& pool,
                       std::int64_t first_rank,
                       ServingPrices* prices) {
    if (!spec.speculation.has_model() || prices == nullptr) {
        return {};
    }
    auto draft = ServingPrices::make(
        scenario, spec.speculation.draft_model, draft_plan(pool.plan), spec.engine, first_rank);
    if (!draft) {
        return tl::unexpected(draft.error());
    }
    prices->use_draft(std::move(*draft));
    return {};
}

// A pool's GPUs encode the images of its prompts.
Result<void> add_encoder(const Scenario& scenario,
                         const ServingSpec& spec,
                         std::int64_t first_rank,
                         ServingPrices* prices) {
    const bool own = spec.encoder.present() && spec.encoder.instances == 0;
    if (!own || prices == nullptr) {
        return {};
    }
    auto encoder = ServingPrices::make(
        scenario, spec.encoder.model, spec.encoder.plan(), spec.engine, first_rank);
    if (!encoder) {
        return tl::unexpected(encoder.error());
    }
    prices->use_encoder(std::move(*encoder), spec.encoder.patches);
    return {};
}

void set_engine_limits(const ServingSpec& spec,
                       const ServingPoolSpec& pool,
                       std::int64_t stages,
                       SchedulerLimits& limits) {
    limits.draft_tokens = spec.speculation.draft_tokens;
    limits.mixes_adapters = spec.engine.mixes_adapters;
    // In a pipeline the host already waits for the batches in earlier stages.
    limits.plans_ahead = spec.engine.asynchronous && stages == 1;
    limits.micro_batches = static_cast<std::uint16_t>(spec.engine.seqs_of_each_stage ? stages : 1);
    limits.num_scheduler_steps = static_cast<std::uint16_t>(spec.engine.num_scheduler_steps);
    limits.prompts_together = static_cast<std::uint16_t>(spec.engine.prompts_together);
    limits.prompt_free_share = spec.engine.prompt_free_share;
    limits.order = spec.engine.queue_order;
    limits.balanced_ranks = std::max(limits.balanced_ranks, prompts_for_all_ranks(pool));
    limits.prompt_wait_steps = static_cast<std::uint16_t>(spec.engine.prompt_wait_steps);
}

// Instances on nodes of several kinds have their own prices.
Result<void> add_mixed(const Scenario& scenario,
                       const ServingSpec& spec,
                       const ServingPoolSpec& pool,
                       Serving& serving) {
    if (!has_mixed_instances(scenario, spec)) {
        return {};
    }
    auto mixed = MixedInstances::make(scenario, spec, pool);
    if (!mixed) {
        return tl::unexpected(mixed.error());
    }
    serving.pools.back().instances = mixed->instances();
    serving.mixed = std::move(*mixed);
    return {};
}

Result<void> add_pool(const Scenario& scenario,
                      const ServingSpec& spec,
                      const ServingPoolSpec& pool,
                      std::int64_t first_rank,
                      Serving& serving) {
    const BatchingRules* rules = find_batching_rules(spec.engine.scheduler);
    if (rules == nullptr) {
        return fail("", fmt::format("no scheduler '{}'", spec.engine.scheduler));
    }
    serving.routers.push_back(make_request_router(pool.router, spec.seed, pool.num_routers));
    if (serving.routers.back() == nullptr) {
        return fail("", fmt::format("no router '{}'", pool.router));
    }
    SchedulerLimits limits = pool.limits;
    std::int64_t stages = pool.plan.pipeline_model_parallel_size;
    std::unique_ptr<ServingPrices> prices;
    if (pool.chain != LayerChain::none) {
        auto chain = ChainPrices::make(scenario, spec.engine, pool);
        if (!chain) {
            return tl::unexpected(chain.error());
        }
        serving.chain = std::move(*chain);
        stages = static_cast<std::int64_t>(serving.chain->num_stages());
        limits.num_blocks = chain_blocks(scenario.model, limits);
    } else {
        auto made =
            ServingPrices::make(scenario, scenario.model, pool.plan, spec.engine, first_rank);
        if (!made) {
            return tl::unexpected(made.error());
        }
        prices = std::move(*made);
        prices->start_cold(spec.cold_start);
    }
    if (limits.num_blocks == 0) {
        const auto blocks = cache_blocks(spec, pool, scenario.model, scenario.device);
        if (!blocks) {
            return tl::unexpected(blocks.error());
        }
        limits.num_blocks = *blocks;
    }
    set_engine_limits(spec, pool, stages, limits);
    serving.pools.push_back(
        {.num_instances = static_cast<std::size_t>(pool.instances),
         .gpus = serving.chain ? stages : pool.plan.num_ranks(),
         .rules = *rules,
         .limits = limits,
         .cost = serving.chain ? static_cast<StepCost*>(serving.chain.get()) : prices.get(),
         .layers = scenario.model.num_layers,
         .acceptance = spec.speculation.acceptance,
         .seed = spec.seed});
    if (spec.power.policy != "none") {
        constexpr double kSlower = 0.5;
        auto slower = ServingPrices::make(
            at_clock(scenario, kSlower), scenario.model, pool.plan, spec.engine, first_rank);
        if (!slower) {
            return tl::unexpected(slower.error());
        }
        serving.pools.back().slower_cost = slower->get();
        serving.pools.back().slower_clock = kSlower;
        serving.slower_prices.push_back(std::move(*slower));
    }
    const Result<void> beside = add_draft(scenario, spec, pool, first_rank, prices.get());
    const Result<void> added =
        beside ? add_encoder(scenario, spec, first_rank, prices.get()) : beside;
    serving.prices.push_back(std::move(prices));
    return added ? add_mixed(scenario, spec, pool, serving) : added;
}

Result<Serving> serving_of(const Scenario& scenario, const ServingSpec& spec) {
    const std::int64_t gpus = scenario.cluster.num_ranks();
    if (spec.num_gpus() > gpus) {
        return fail(
            scenario.cluster_where,
            fmt::format(
                "the instances take {} GPUs, and the cluster has {}", spec.num_gpus(), gpus),
            "more nodes, fewer instances, or a smaller tensor or pipeline size");
    }
    if (const auto good = check_kinds(scenario, spec); !good) {
        return tl::unexpected(good.error());
    }
    Serving serving;
    serving.layer_wise_tokens = spec.layer_wise_tokens;
    serving.streams_from_generation = spec.engine.streams_from_decode;
    std::vector<PlacedPool> placed;
    std::int64_t first_rank = 0;
    for (const ServingPoolSpec& pool : spec.pools) {
        if (const auto added = add_pool(scenario, spec, pool, first_rank, serving); !added) {
            return tl::unexpected(added.error());
        }
        placed.push_back(
            {.plan = pool.plan, .first_rank = first_rank, .block_size = pool.limits.block_size});
        first_rank += pool.instances * placed.back().ranks_of_instance();
    }
    if (placed.size() > 1 || !spec.cache.tiers.empty()) {
        auto transport =
            FabricTransport::make(scenario, scenario.model, placed.front(), placed.back());
        if (!transport) {
            return tl::unexpected(transport.error());
        }
        serving.transport = std::move(*transport);
    }
    PoolHosts hosts =
        hosts_of(placed.front(), spec.pools.front().instances, scenario.cluster.gpus_per_server());
    auto tiers = tiers_of(scenario, spec, placed.front(), hosts);
    if (!tiers) {
        return tl::unexpected(tiers.error());
    }
    serving.tiers = std::move(*tiers);
    serving.parts = {
        .tiers = serving.tiers.get(), .hosts = hosts.of_instance, .loads = serving.transport.get()};
    if (serving.tiers) {
        serving.transport->use(std::move(hosts));
    }
    serving.policies = policies_of(scenario, spec, serving.pools, serving.transport.get());
    for (std::size_t i = 0; i < serving.routers.size(); ++i) {
        serving.routers[i]->use(*serving.policies.estimates[i]);
        serving.parts.estimates.push_back(serving.policies.estimates[i].get());
    }
    serving.parts.admission = serving.policies.admission.get();
    serving.parts.scaling = serving.policies.scaling;
    for (const PoolScaling& pool : serving.parts.scaling.pools) {
        if (const auto good = check_start_up(pool.start_up); !good) {
            return tl::unexpected(good.error());
        }
    }
    serving.parts.power = serving.policies.row;
    return serving;
}

// Requests that share blocks need pools with equal block sizes.
Result<void> check_blocks(const Scenario& scenario,
                          const ServingSpec& spec,
                          const std::vector<Request>& requests) {
    const std::int64_t first = spec.pools.front().limits.block_size;
    const std::int64_t last = spec.pools.back().limits.block_size;
    const bool share = std::ranges::any_of(
        requests, [](const Request& request) { return !request.prefix_hashes.empty(); });
    if (share && first != last) {
        return fail(scenario.cluster_where,
                    fmt::format("requests share blocks, of {} tokens in one pool and {} in the "
                                "other",
                                first,
                                last),
                    "one block_size for both pools");
    }
    return {};
}

ServingResult run(Serving& serving, const std::vector<Request>& requests, const ServingLoad& load) {
    if (serving.pools.size() == 1) {
        return serve(requests,
                     load,
                     serving.pools.front(),
                     *serving.routers.front(),
                     serving.faults.instances,
                     serving.parts);
    }
    const SplitPools pools{.prompts = serving.pools[0],
                           .generation = serving.pools[1],
                           .transport = serving.transport.get(),
                           .layer_wise_tokens = serving.layer_wise_tokens,
                           .streams_from_generation = serving.streams_from_generation};
    return serve(requests,
                 load,
                 pools,
                 *serving.routers[0],
                 *serving.routers[1],
                 serving.faults.instances,
                 serving.parts);
}

// Faults are drawn until a day after the last arrival, or for 30 days if the arrivals have no end.
Time end_of_faults(const std::vector<Request>& requests, const ServingLoad& load) {
    constexpr double kDay_s = 86'400;
    const double last = load.users > 0 || requests.empty() ? 0 : requests.back().arrival.seconds();
    return Time::seconds(std::min(kLongestLoad_s, last == 0 ? 30 * kDay_s : last + kDay_s));
}

Result<void> add_faults(const Scenario& scenario,
                        const ServingSpec& spec,
                        Time until,
                        Serving& serving) {
    if (scenario.faults.processes.empty()) {
        return {};
    }
    if (spec.has_chain()) {
        return fail(scenario.cluster_where,
                    "faults hit the ranks of equal instances, and serving.pools has a chain",
                    "chain: none");
    }
    if (serving.parts.scaling.policy != nullptr) {
        return fail(scenario.cluster_where,
                    "faults hit instances that are always there, and an autoscaler is given",
                    "serving.autoscaler: {policy: none}");
    }
    const Fabric* fabric = serving.transport ? &serving.transport->fabric() : nullptr;
    auto faults = served_faults(scenario, spec, until, fabric);
    if (!faults) {
        return tl::unexpected(faults.error());
    }
    serving.faults = std::move(*faults);
    if (serving.transport) {
        serving.transport->change_links(serving.faults.links);
    }
    return {};
}

}  // namespace

// Adds cost and energy of the GPUs while the load is served.
void add_costs(const ServingSpec& spec, ServingAnswer& answer) {
    const double million = answer.output_tokens_per_s * answer.makespan.seconds() * 1e-6;
    if (million <= 0) {
        return;
    }
    double busy_gpu_hours = 0;
    for (std::size_t i = 0; i < spec.pools.size(); ++i) {
        const ServingPoolSpec& pool = spec.pools[i];
        busy_gpu_hours += static_cast<double>(pool.instances * pool.plan.num_ranks()) *
                          answer.pools[i].busy * answer.makespan.seconds() / 3600;
    }
    if (answer.encoder) {
        busy_gpu_hours += static_cast<double>(spec.encoder.num_gpus()) * answer.encoder->busy *
                          answer.makespan.seconds() / 3600;
    }
    const double watt_hours =
        spec.idle_watts * answer.gpu_hours + (spec.busy_watts - spec.idle_watts) * busy_gpu_hours;
    answer.cost_per_million_tokens = spec.price_per_gpu_hour * answer.gpu_hours / million;
    answer.kwh_per_million_tokens = spec.busy_watts > 0 ? watt_hours * 1e-3 / million : 0;
}

// The encoder occupies its GPUs as long as the load lasts.
void report_encoder(const ServingSpec& spec, const EncodedLoad& encoded, ServingAnswer& answer) {
    answer.encoder = encoded.use;
    const double seconds = answer.makespan.seconds();
    answer.encoder->busy = seconds > 0 ? encoded.busy_s / seconds : 0;
    answer.gpu_hours += static_cast<double>(spec.encoder.num_gpus()) * seconds / 3600;
    add_costs(spec, answer);
}

ServingAnswer serving_answer(const ServingResult& served,
                             const std::vector<Request>& requests,
                             const ServingSpec& spec,
                             std::span<const ServingPool> pools) {
    ServingAnswer answer;
    answer.seed = spec.seed;
    add_latencies(served, requests, spec.objectives, answer);
    add_parts(served, answer);
    answer.cached_share = cached_share(served, requests);
    std::size_t first = 0;
    for (std::size_t i = 0; i < pools.size(); ++i) {
        answer.pools.push_back(
            use_of(served, pools[i], spec.pools[i].role, first, answer.makespan.seconds()));
        first += pools[i].num_instances;
    }
    report_instances(served, spec, answer);
    report_row(served, spec, answer);
    add_costs(spec, answer);
    return answer;
}

Result<ServingAnswer> serve_scenario(const Scenario& scenario,
                                     const ServingSpec& spec,
                                     const std::vector<Request>& arriving,
                                     const ServingLoad& load,
                                     ServingResult* result,
                                     ServingObserver* observer) {
    const auto begin = std::chrono::steady_clock::now();
    auto encoded = encode_apart(scenario, spec, arriving, load);
    if (!encoded) {
        return tl::unexpected(encoded.error());
    }
    const std::vector<Request>& requests = *encoded ? (*encoded)->requests : arriving;
    if (const auto good = check_workflows(spec, requests, load); !good) {
        return tl::unexpected(good.error());
    }
    if (const auto good = check_blocks(scenario, spec, requests); !good) {
        return tl::unexpected(good.error());
    }
    auto serving = serving_of(scenario, spec);
    if (!serving) {
        return tl::unexpected(serving.error());
    }
    if (const auto added = add_faults(scenario, spec, end_of_faults(requests, load), *serving);
        !added) {
        return tl::unexpected(added.error());
    }
    ServingLoad queued = load_through_hosts(load, spec);
    queued.slow_gaps = spec.objectives.tbt > Time{};
    serving->parts.observer = observer;
    ServingResult own;
    ServingResult& served = result != nullptr ? *result : own;
    served = run(*serving, requests, queued);
    if (served.out_of_time) {
        return fail("workload",
                    fmt::format("the load would take longer than {:.0f} days",
                                kLastInstant.seconds() / 86'400),
                    "fewer requests or tokens, or faster instances");
    }
    if (served.gave_up) {
        return ServingAnswer{};
    }
    ServingAnswer answer = serving_answer(served, requests, spec, serving->pools);
    answer.chain = serving->chain ? serving->chain->use() : std::vector<ChainNodeUse>{};
    if (serving->transport) {
        report_transfers(*serving->transport, answer);
    }
    if (serving->tiers) {
        report_tiers(spec, *serving->tiers, *serving->transport, served, requests, answer);
    }
    for (std::size_t i = 0; i < answer.scaled.size(); ++i) {
        answer.scaled[i].start_up = serving->parts.scaling.pools[i].start_up;
    }
    report_faults(serving->faults, served, served.instances.size(), answer);
    if (spec.objectives.any_slowdown()) {
        const auto alone = serve_alone(scenario, spec, requests);
        if (!alone) {
            return tl::unexpected(alone.error());
        }
        answer.slowdowns = slowdowns_of(served, *alone);
    }
    if (*encoded) {
        report_encoder(spec, **encoded, answer);
        put_in_place(**encoded, served.records);
    }
    answer.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer;
}

}  // namespace orrery
