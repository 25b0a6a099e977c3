// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/real_serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "runtime/make_decode_step.h"
#include "runtime/serve/cache_move_times.h"
#include "runtime/serve/prefix_hashes.h"
#include "runtime/serve/rehearsal.h"
#include "runtime/serve/replay_load.h"
#include "runtime/serve/served_adapters.h"
#include "runtime/serve/step_times.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostAdapters = 1024;  // all adapters are held in memory

Result<void> check_requests(const std::vector<Request>& requests, std::int64_t context) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].workflow > 0) {
            return fail("workload.lengths",
                        "calls that wait for others of their workflow are only simulated",
                        "a table of share, input_tokens and output_tokens");
        }
        const std::int64_t tokens = requests[i].prompt_tokens + requests[i].output_tokens;
        if (tokens > context) {
            return fail("workload",
                        fmt::format("request {} has {} tokens in and out, and the model's sequence "
                                    "has {}",
                                    i,
                                    tokens,
                                    context),
                        "fewer tokens, or a larger model.seq_length");
        }
    }
    return {};
}

// Measures one instance's steps. The ranks of other instances wait meanwhile and need a sign of
// life.
class TimedStep final : public DecodeStep {
public:
    TimedStep(DecodeStep& timed, const RealInstances& all) : timed_(timed), all_(all) {}
    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_sign_ > std::chrono::seconds{10}) {
            last_sign_ = now;
            for (const auto& step : all_.steps) {
                if (auto done = step->keep_alive(); !done) {
                    return done;
                }
            }
        }
        return timed_.run(chunks, logits);
    }

private:
    DecodeStep& timed_;
    const RealInstances& all_;
    std::chrono::steady_clock::time_point last_sign_ = std::chrono::steady_clock::now();
};

// Measures steps and moves of the cache. Overwrites the caches.
Result<ServedCosts> timed_costs(const RealInstances& instances, std::int64_t context) {
    ServedCosts costs;
    std::vector<MovingInstance> first;  // one of each pool
    for (const RealPool& pool : instances.pools) {
        TimedStep timed{*pool.steps.front(), instances};
        const auto cost =
            MeasuredStepCost::measure(timed, pool.limits, context, instances.served.adapters);
        if (!cost) {
            return unexpected<Error>(cost.error());
        }
        costs.steps.push_back(*cost);
        first.push_back(
            {.step = pool.steps.front(), .number = first.size(), .limits = pool.limits});
    }
    if (first.size() > 1) {
        const auto moves = measure_cache_moves(first[0], first[1], context);
        if (!moves) {
            return unexpected<Error>(moves.error());
        }
        costs.moves = *moves;
    }
    return costs;
}

std::vector<std::unique_ptr<RequestRouter>> routers_of(const ServingSpec& spec) {
    std::vector<std::unique_ptr<RequestRouter>> routers;
    for (const ServingPoolSpec& pool : spec.pools) {
        routers.push_back(make_request_router(pool.router, spec.seed, pool.num_routers));
    }
    return routers;
}

// Sets the number of moves of keys and values, their tokens and their total time.
void set_moves(std::int64_t moves,
               std::int64_t tokens,
               Time total,
               const Transformer& model,
               ServingAnswer& answer) {
    const std::int64_t of_token =
        model.num_layers * 2 * model.kv_size() * static_cast<std::int64_t>(sizeof(float));
    answer.transfers = moves;
    answer.transferred = Bytes{tokens * of_token};
    answer.transfer_s = moves > 0 ? total.seconds() / static_cast<double>(moves) : 0;
}

ServingAnswer answer_of(const Scenario& scenario,
                        const RealInstances& instances,
                        const std::vector<Request>& requests,
                        const ServingResult& result) {
    std::vector<ServingPool> pools;
    for (const RealPool& pool : instances.pools) {
        pools.push_back(
            {.num_instances = pool.steps.size(), .rules = pool.rules, .limits = pool.limits});
    }
    return serving_answer(result, requests, scenario.serving, pools);
}

ServingAnswer predicted_answer(const Scenario& scenario,
                               const RealInstances& instances,
                               const std::vector<Request>& requests,
                               const ServedCosts& costs) {
    const auto begin = std::chrono::steady_clock::now();
    const auto routers = routers_of(scenario.serving);
    const SimulatedLoad simulated =
        simulate_served(instances.live_pools(routers), requests, scenario.workload.users, costs);
    ServingAnswer answer = answer_of(scenario, instances, requests, simulated.result);
    set_moves(simulated.moves, simulated.moved_tokens, simulated.moving, scenario.model, answer);
    answer.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer;
}

// Limits of a real pool. Without num_blocks the cache holds max_num_seqs of the longest sequences.
SchedulerLimits real_limits(const Scenario& scenario, const ServingPoolSpec& pool) {
    SchedulerLimits limits = pool.limits;
    limits.mixes_adapters = scenario.serving.engine.mixes_adapters;
    if (limits.num_blocks == 0) {
        const std::int64_t of_sequence =
            (scenario.model.seq_length + limits.block_size - 1) / limits.block_size;
        limits.num_blocks = of_sequence * limits.max_num_seqs;
    }
    return limits;
}

}  // namespace

std::vector<LivePool> RealInstances::live_pools() const {
    return live_pools(routers);
}

std::vector<LivePool> RealInstances::live_pools(
    const std::vector<std::unique_ptr<RequestRouter>>& with) const {
    std::vector<LivePool> live;
    for (std::size_t i = 0; i < pools.size(); ++i) {
        live.push_back({.rules = pools[i].rules,
                        .limits = pools[i].limits,
                        .instances = pools[i].steps,
                        .router = with[i].get()});
    }
    return live;
}

namespace {

// Adds an error for each key that the real server does not support.
void refuse_simulated(const Scenario& scenario, Errors& errors) {
    const ServingSpec& spec = scenario.serving;
    const auto refuse = [&](bool present, const char* key, const char* what, const char* hint) {
        if (present) {
            errors.push_back({key, std::string{what} + " only simulated", hint});
        }
    };
    refuse(spec.admission != "all", "serving.admission", "admission is", "all");
    refuse(spec.autoscaler.policy != "none",
           "serving.autoscaler.policy",
           "instances that follow the load are",
           "none");
    refuse(spec.power.policy != "none", "serving.power.policy", "a limit of power is", "none");
    refuse(!spec.cache.tiers.empty(), "serving.cache.tiers", "tiers below the cache are", "[]");
    refuse(spec.speculation.draft_tokens > 0,
           "serving.speculation.draft_tokens",
           "proposals are",
           "0");
    refuse(spec.objectives.tbt > Time{}, "serving.objectives.tbt", "this objective is", "tpot");
    refuse(spec.objectives.any_slowdown(),
           "serving.objectives",
           "slowdowns over an idle instance are",
           "ttft, tpot and e2e");
    refuse(!scenario.faults.processes.empty(), "faults", "faults of instances are", "none");
    refuse(spec.encoder.present(), "serving.encoder", "images are", "none");
    refuse(spec.engine.queue_order == QueueOrder::deadline,
           "serving.engine.queue_order",
           "deadlines of workflows are",
           "arrival");
    refuse(spec.layer_wise_tokens > 0,
           "serving.layer_wise_tokens",
           "prompts that leave layer by layer are",
           "0");
    refuse(std::ranges::any_of(
               spec.pools, [](const ServingPoolSpec& pool) { return pool.plan.expert_skew > 0; }),
           "serving.pools.expert_skew",
           "loads of experts by a law are",
           "0");
    refuse(spec.has_chain(), "serving.pools.chain", "layers on nodes that differ are", "none");
}

}  // namespace

ResultOrErrors<RealGrid> real_grid(const Scenario& scenario) {
    const ServingSpec& spec = scenario.serving;
    const ServingPoolSpec& first = spec.pools.front();
    const RankGrid grid{.tensor_size = first.plan.tensor_model_parallel_size,
                        .num_stages = first.plan.pipeline_model_parallel_size};
    Errors errors;
    refuse_simulated(scenario, errors);
    for (const ServingPoolSpec& pool : spec.pools) {
        const RankGrid own{.tensor_size = pool.plan.tensor_model_parallel_size,
                           .num_stages = pool.plan.pipeline_model_parallel_size};
        if (pool.plan.num_ranks() != own.num_ranks() || pool.plan.expert_model_parallel_size > 1) {
            errors.push_back({"serving.pools",
                              "data and expert parallel instances are only simulated",
                              "data and expert parallel sizes of 1"});
        }
        if (pool.plan.adapter_rank != first.plan.adapter_rank) {
            errors.push_back({"serving.pools.adapter_rank",
                              "adapters of one rank in each pool are only simulated",
                              "one rank in all pools"});
        }
        if (pool.instances > 1 && (own.num_ranks() > 1 || spec.pools.size() > 1)) {
            errors.push_back({"serving.pools.instances",
                              "several instances of several processes are only simulated",
                              "one instance in each pool, or one pool of instances of one rank"});
        }
        if (own.tensor_size != grid.tensor_size || own.num_stages != grid.num_stages) {
            errors.push_back(
                {"serving.pools",
                 fmt::format("prompts are computed by tp {} x pp {} and the rest by tp {} x pp {}: "
                             "moves between unequal groups are only simulated",
                             grid.tensor_size,
                             grid.num_stages,
                             own.tensor_size,
                             own.num_stages),
                 "equal tensor_model_parallel_size and pipeline_model_parallel_size"});
        }
        if (pool.limits.block_size != first.limits.block_size) {
            errors.push_back({"serving.pools.block_size",
                              fmt::format("pools have blocks of {} and of {} tokens",
                                          first.limits.block_size,
                                          pool.limits.block_size),
                              "one size"});
        }
    }
    if (scenario.workload.adapters > kMostAdapters) {
        errors.push_back({"workload.adapters",
                          fmt::format("more than {} adapters are only simulated", kMostAdapters),
                          "fewer"});
    }
    if (scenario.workload.repeated_requests > 0) {
        errors.push_back({"workload.repeated_requests",
                          "prompts of an earlier run are only simulated",
                          "repeated_requests: 0"});
    }
    const Errors cut = check_cut(scenario.model, grid);
    errors.insert(errors.end(), cut.begin(), cut.end());
    return errors.empty() ? ResultOrErrors<RealGrid>{RealGrid{.instance = grid,
                                                              .num_pools = std::ssize(spec.pools)}}
                          : unexpected<Errors>(errors);
}

Errors check_device(const Scenario& scenario, const RealGrid& grid, DeviceChoice device) {
    Errors errors;
    if (device == DeviceChoice::cpu) {
        return errors;
    }
    if (grid.num_ranks() > 1) {
        errors.push_back({"serving.pools",
                          fmt::format("{} ranks on GPUs are only simulated", grid.num_ranks()),
                          "one pool of instances of one rank, or --device cpu"});
    }
    const ServingPlan& plan = scenario.serving.pools.front().plan;
    if (plan.precision != ProductPrecision::bf16 || plan.weight_bits != 16) {
        errors.push_back({"serving.pools.precision",
                          "a GPU serves weights of 16 bits in bf16; others are only simulated",
                          "bf16"});
    }
    return errors;
}

ResultOrErrors<RealInstances> real_instances(const Scenario& scenario,
                                             Transport* transport,
                                             DeviceChoice device) {
    const auto grid = real_grid(scenario);
    if (!grid) {
        return unexpected<Errors>(grid.error());
    }
    if (const Errors errors = check_device(scenario, *grid, device); !errors.empty()) {
        return unexpected<Errors>(errors);
    }
    ORRERY_CHECK((grid->num_ranks() > 1) == (transport != nullptr));
    const ServingSpec& spec = scenario.serving;
    auto served = load_served_model(scenario.model, spec.weights, spec.seed);
    if (!served) {
        return unexpected<Errors>(served.error());
    }
    RealInstances instances{.served = std::move(*served), .routers = routers_of(spec)};
    if (const std::int64_t adapters = scenario.workload.adapters; adapters > 0) {
        draw_adapters(instances.served, adapters, spec.pools.front().plan.adapter_rank, spec.seed);
    }
    std::vector<CacheShape> caches;
    for (const ServingPoolSpec& pool : spec.pools) {
        const SchedulerLimits limits = real_limits(scenario, pool);
        caches.push_back({.num_blocks = limits.num_blocks, .block_size = limits.block_size});
        instances.pools.push_back(
            {.rules = *find_batching_rules(spec.engine.scheduler), .limits = limits, .steps = {}});
    }
    const auto add = [&](std::size_t pool, std::unique_ptr<DecodeStep> step) {
        instances.pools[pool].steps.push_back(step.get());
        instances.steps.push_back(std::move(step));
    };
    if (transport == nullptr) {
        for (std::int64_t i = 0; i < spec.pools.front().instances; ++i) {
            const SchedulerLimits& limits = instances.pools.front().limits;
            auto step = make_decode_step(
                device,
                instances.served,
                caches[0],
                {.tokens = limits.max_num_batched_tokens,
                 .sequences = std::min(limits.max_num_seqs, limits.max_num_batched_tokens),
                 .instance = static_cast<std::size_t>(i)});
            if (!step) {
                return unexpected<Errors>(Errors{step.error()});
            }
            add(0, std::move(*step));
        }
        return instances;
    }
    const std::int64_t own = transport->rank() / grid->instance.num_ranks();
    instances.rank = std::make_unique<RankStep>(
        instances.served, caches[static_cast<std::size_t>(own)], grid->instance, *transport, own);
    if (transport->rank() == 0) {
        add(0, std::make_unique<HeadStep>(*instances.rank));
        if (grid->num_pools > 1) {
            instances.others = std::make_unique<InstanceRanks>(grid->instance, 1, *transport);
            add(1, std::make_unique<HeadStep>(*instances.others, scenario.model.vocab_size));
        }
    }
    return instances;
}

Errors follow_instance(const Scenario& scenario, Transport& transport) {
    const auto instances = real_instances(scenario, &transport);
    if (!instances) {
        return instances.error();
    }
    const Result<void> done = instances->rank->follow();
    return done ? Errors{} : Errors{done.error()};
}

ResultOrErrors<RealServingAnswer> serve_for_real(const Scenario& scenario,
                                                 const RealInstances& instances,
                                                 std::vector<Request> requests,
                                                 ServingResult* result) {
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t context = scenario.model.seq_length;
    const std::uint64_t seed = scenario.workload.seed;
    if (const Result<void> good = check_requests(requests, context); !good) {
        return unexpected<Errors>(Errors{good.error()});
    }
    const auto prompts = drawn_prompts(requests, scenario.model.vocab_size, seed);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        requests[i].prefix_hashes = prefix_hashes(
            prompts[i], instances.pools.front().limits.block_size, seed, requests[i].adapter);
    }
    auto costs = timed_costs(instances, context);
    const auto rehearsing = routers_of(scenario.serving);
    const LoadToRehearse rehearsed{.requests = requests,
                                   .users = scenario.workload.users,
                                   .context = context,
                                   .vocabulary = scenario.model.vocab_size,
                                   .seed = seed};
    const Result<void> done = costs ? rehearse(instances.live_pools(rehearsing), rehearsed, *costs)
                                    : Result<void>{unexpected<Error>(costs.error())};
    if (!done) {
        return unexpected<Errors>(Errors{done.error()});
    }
    LiveServer server{instances.live_pools(), {.context = context, .salt = seed}};
    auto replayed = replay_load(server, requests, prompts, {.users = scenario.workload.users});
    const LiveCounters counters = server.counters();
    server.stop();
    if (!replayed) {
        return unexpected<Errors>(Errors{replayed.error()});
    }
    RealServingAnswer answer{.device = instances.steps.front()->device_name(),
                             .measured = answer_of(scenario, instances, requests, replayed->result),
                             .predicted = predicted_answer(scenario, instances, requests, *costs),
                             .outputs = std::move(replayed->outputs)};
    set_moves(
        counters.moves, counters.moved_tokens, counters.moving, scenario.model, answer.measured);
    answer.measured.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (result != nullptr) {
        *result = std::move(replayed->result);
    }
    return answer;
}

}  // namespace orrery
