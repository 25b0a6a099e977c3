// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/real_serving.h"

#include <fmt/format.h>

#include <chrono>

#include "runtime/serve/front_end_time.h"
#include "runtime/serve/paged_decoder.h"
#include "runtime/serve/prefix_hashes.h"
#include "runtime/serve/replay_load.h"
#include "runtime/serve/step_times.h"

namespace orrery {
namespace {

Result<void> check_lengths(const std::vector<Request>& requests, std::int64_t context) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
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

// The same policies in simulated time.
ServingAnswer predicted_answer(const Scenario& scenario,
                               const RealInstances& instances,
                               const std::vector<Request>& requests,
                               MeasuredStepCost cost,
                               Time front_end) {
    const auto begin = std::chrono::steady_clock::now();
    const ServingPool pool{.num_instances = instances.steps.size(),
                           .rules = instances.rules,
                           .limits = instances.limits,
                           .cost = &cost};
    const auto router =
        make_request_router(scenario.serving.pools.front().router, scenario.serving.seed);
    const ServingResult served =
        serve(requests, {.users = scenario.workload.users, .front_end = front_end}, pool, *router);
    ServingAnswer answer = serving_answer(served, requests, scenario.serving, {&pool, 1});
    answer.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer;
}

// Without a number of blocks the cache holds the longest sequences, as many as run at once.
SchedulerLimits real_limits(const Scenario& scenario) {
    SchedulerLimits limits = scenario.serving.pools.front().limits;
    if (limits.num_blocks == 0) {
        const std::int64_t of_sequence =
            (scenario.model.seq_length + limits.block_size - 1) / limits.block_size;
        limits.num_blocks = of_sequence * limits.max_num_seqs;
    }
    return limits;
}

}  // namespace

std::vector<DecodeStep*> RealInstances::all() const {
    std::vector<DecodeStep*> found;
    for (const auto& step : steps) {
        found.push_back(step.get());
    }
    return found;
}

ResultOrErrors<RankGrid> real_grid(const Scenario& scenario) {
    const ServingSpec& spec = scenario.serving;
    const ServingPoolSpec& pool = spec.pools.front();
    const RankGrid grid{.tensor_size = pool.plan.tensor_model_parallel_size,
                        .num_stages = pool.plan.pipeline_model_parallel_size};
    Errors errors;
    if (spec.pools.size() > 1) {
        errors.push_back({"serving.pools",
                          "prompts and generation on instances of their own are only simulated",
                          "one aggregated pool"});
    }
    if (pool.plan.num_ranks() != grid.num_ranks() || pool.plan.expert_model_parallel_size > 1) {
        errors.push_back({"serving.pools",
                          "data and expert parallel instances are only simulated",
                          "data and expert parallel sizes of 1"});
    }
    if (grid.num_ranks() > 1 && pool.instances > 1) {
        errors.push_back({"serving.pools.instances",
                          "several instances of several ranks are only simulated",
                          "one instance, or instances of one rank"});
    }
    const Errors cut = check_cut(scenario.model, grid);
    errors.insert(errors.end(), cut.begin(), cut.end());
    return errors.empty() ? ResultOrErrors<RankGrid>{grid} : unexpected<Errors>(errors);
}

ResultOrErrors<RealInstances> real_instances(const Scenario& scenario, Transport* transport) {
    const auto grid = real_grid(scenario);
    if (!grid) {
        return unexpected<Errors>(grid.error());
    }
    ORRERY_CHECK((grid->num_ranks() > 1) == (transport != nullptr));
    const ServingSpec& spec = scenario.serving;
    auto served = load_served_model(scenario.model, spec.weights, spec.seed);
    if (!served) {
        return unexpected<Errors>(served.error());
    }
    RealInstances instances{.served = std::move(*served),
                            .rank = nullptr,
                            .steps = {},
                            .rules = *find_batching_rules(spec.engine.scheduler),
                            .limits = real_limits(scenario)};
    const CacheShape cache{.num_blocks = instances.limits.num_blocks,
                           .block_size = instances.limits.block_size};
    if (transport != nullptr) {
        instances.rank = std::make_unique<RankStep>(instances.served, cache, *grid, *transport);
        if (transport->rank() == 0) {
            instances.steps.push_back(std::make_unique<HeadStep>(*instances.rank));
        }
        return instances;
    }
    for (std::int64_t i = 0; i < spec.pools.front().instances; ++i) {
        instances.steps.push_back(std::make_unique<PagedDecoder>(instances.served, cache));
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
    if (const Result<void> good = check_lengths(requests, context); !good) {
        return unexpected<Errors>(Errors{good.error()});
    }
    const auto prompts = drawn_prompts(requests, scenario.model.vocab_size, seed);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        requests[i].prefix_hashes = prefix_hashes(prompts[i], instances.limits.block_size, seed);
    }
    const auto cost =
        MeasuredStepCost::measure(*instances.steps.front(), instances.limits, context);
    if (!cost) {
        return unexpected<Errors>(Errors{cost.error()});
    }
    const auto front_end = measured_front_end(
        instances.rules,
        instances.limits,
        instances.all(),
        *cost,
        {.context = context, .vocabulary = scenario.model.vocab_size, .seed = seed});
    if (!front_end) {
        return unexpected<Errors>(Errors{front_end.error()});
    }
    const auto router =
        make_request_router(scenario.serving.pools.front().router, scenario.serving.seed);
    LiveServer server{instances.rules,
                      instances.limits,
                      {.context = context, .salt = seed},
                      instances.all(),
                      *router};
    auto replayed = replay_load(server, requests, prompts, {.users = scenario.workload.users});
    server.stop();
    if (!replayed) {
        return unexpected<Errors>(Errors{replayed.error()});
    }
    const ServingPool pool{.num_instances = instances.steps.size(),
                           .rules = instances.rules,
                           .limits = instances.limits};
    RealServingAnswer answer{
        .measured = serving_answer(replayed->result, requests, scenario.serving, {&pool, 1}),
        .predicted = predicted_answer(scenario, instances, requests, *cost, *front_end),
        .outputs = std::move(replayed->outputs)};
    answer.measured.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (result != nullptr) {
        *result = std::move(replayed->result);
    }
    return answer;
}

}  // namespace orrery
