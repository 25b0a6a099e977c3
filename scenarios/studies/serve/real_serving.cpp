// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/real_serving.h"

#include <fmt/format.h>

#include <chrono>

#include "runtime/serve/paged_decoder.h"
#include "runtime/serve/prefix_hashes.h"
#include "runtime/serve/replay_load.h"
#include "runtime/serve/step_times.h"

namespace orrery {
namespace {

Result<void> check_pools(const ServingSpec& spec) {
    if (spec.pools.size() > 1) {
        return fail("serving.pools",
                    "prompts and generation on instances of their own are only simulated",
                    "one aggregated pool");
    }
    const ServingPlan& plan = spec.pools.front().plan;
    if (plan.num_ranks() > 1) {
        return fail("serving.pools",
                    fmt::format("an instance of {} ranks is only simulated", plan.num_ranks()),
                    "tensor, pipeline and data parallel sizes of 1");
    }
    return {};
}

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
                               MeasuredStepCost cost) {
    const auto begin = std::chrono::steady_clock::now();
    const ServingPool pool{.num_instances = instances.steps.size(),
                           .rules = instances.rules,
                           .limits = instances.limits,
                           .cost = &cost};
    const auto router =
        make_request_router(scenario.serving.pools.front().router, scenario.serving.seed);
    const ServingResult served = serve(requests, {.users = scenario.workload.users}, pool, *router);
    ServingAnswer answer = serving_answer(served, requests, scenario.serving, {&pool, 1});
    answer.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer;
}

}  // namespace

std::vector<DecodeStep*> RealInstances::all() const {
    std::vector<DecodeStep*> found;
    for (const auto& step : steps) {
        found.push_back(step.get());
    }
    return found;
}

ResultOrErrors<RealInstances> real_instances(const Scenario& scenario) {
    const ServingSpec& spec = scenario.serving;
    if (const Result<void> good = check_pools(spec); !good) {
        return unexpected<Errors>(Errors{good.error()});
    }
    auto served = load_served_model(scenario.model, spec.weights, spec.seed);
    if (!served) {
        return unexpected<Errors>(served.error());
    }
    const ServingPoolSpec& pool = spec.pools.front();
    RealInstances instances{.served = std::move(*served),
                            .steps = {},
                            .rules = *find_batching_rules(spec.engine.scheduler),
                            .limits = pool.limits};
    SchedulerLimits& limits = instances.limits;
    if (limits.num_blocks == 0) {
        const std::int64_t of_sequence =
            (scenario.model.seq_length + limits.block_size - 1) / limits.block_size;
        limits.num_blocks = of_sequence * limits.max_num_seqs;
    }
    for (std::int64_t i = 0; i < pool.instances; ++i) {
        instances.steps.push_back(std::make_unique<PagedDecoder>(
            instances.served,
            CacheShape{.num_blocks = limits.num_blocks, .block_size = limits.block_size}));
    }
    return instances;
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
        .predicted = predicted_answer(scenario, instances, requests, *cost),
        .outputs = std::move(replayed->outputs)};
    answer.measured.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (result != nullptr) {
        *result = std::move(replayed->result);
    }
    return answer;
}

}  // namespace orrery
