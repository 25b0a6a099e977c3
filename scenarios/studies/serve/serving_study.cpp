// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/counter_random.h"
#include "engine/statistics.h"
#include "scenarios/studies/serve/serving_prices.h"

namespace orrery {

namespace {

constexpr std::uint32_t kArrivals = 0x41727276;  // streams of random numbers of their own
constexpr std::uint32_t kLengths = 0x4c656e67;

LatencySummary summary(std::vector<double> seconds) {
    if (seconds.empty()) {
        return {};
    }
    std::sort(seconds.begin(), seconds.end());
    double sum = 0;
    for (const double value : seconds) {
        sum += value;
    }
    return {.mean = sum / static_cast<double>(seconds.size()),
            .p50 = nearest_rank(seconds, 50),
            .p90 = nearest_rank(seconds, 90),
            .p99 = nearest_rank(seconds, 99)};
}

void add_latencies(const ServingResult& result, ServingAnswer& answer) {
    std::vector<double> ttft;
    std::vector<double> tpot;
    std::vector<double> e2e;
    std::vector<double> queued;
    std::int64_t output = 0;
    Time first = Time::max();
    for (const RequestRecord& record : result.records) {
        answer.preemptions += record.preemptions;
        if (!record.finished()) {
            ++answer.refused;
            continue;
        }
        ++answer.requests;
        first = std::min(first, record.arrival);
        output += record.output_tokens;
        ttft.push_back(record.time_to_first_token().seconds());
        e2e.push_back(record.end_to_end().seconds());
        queued.push_back((record.first_scheduled - record.arrival).seconds());
        if (record.output_tokens > 1) {
            tpot.push_back(record.time_per_output_token().seconds());
        }
    }
    answer.ttft_s = summary(std::move(ttft));
    answer.tpot_s = summary(std::move(tpot));
    answer.e2e_s = summary(std::move(e2e));
    answer.queued_s = summary(std::move(queued));
    if (answer.requests > 0) {
        answer.makespan = result.end - first;
        const double seconds = answer.makespan.seconds();
        answer.output_tokens_per_s = static_cast<double>(output) / seconds;
        answer.requests_per_s = static_cast<double>(answer.requests) / seconds;
    }
}

void add_use(const ServingResult& result,
             const std::vector<Request>& requests,
             std::int64_t block_size,
             ServingAnswer& answer) {
    std::int64_t prompts = 0;
    std::int64_t cached = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        prompts += requests[i].prompt_tokens;
        cached += result.records[i].cached_tokens;
    }
    answer.cached_share =
        prompts == 0 ? 0 : static_cast<double>(cached) / static_cast<double>(prompts);
    std::int64_t tokens = 0;
    Time busy;
    for (const InstanceTotals& totals : result.instances) {
        answer.batches += totals.batches;
        tokens += totals.computed_tokens;
        busy += totals.busy;
        answer.most_cache_tokens =
            std::max(answer.most_cache_tokens, totals.most_blocks * block_size);
    }
    if (answer.batches > 0) {
        answer.mean_batch = static_cast<double>(tokens) / static_cast<double>(answer.batches);
        answer.busy = busy.seconds() / answer.makespan.seconds() /
                      static_cast<double>(result.instances.size());
    }
}

}  // namespace

std::vector<Request> synthetic_requests(const WorkloadSpec& workload) {
    CounterRandom arrivals(workload.seed, 0, kArrivals);
    CounterRandom lengths(workload.seed, 0, kLengths);
    const auto length = [&](double stated) {
        const double share =
            workload.length_spread + (1 - workload.length_spread) * lengths.uniform();
        return std::max<std::int64_t>(1, std::llround(stated * share));
    };
    std::vector<Request> requests;
    double now = 0;
    for (std::int64_t i = 0; i < workload.num_requests; ++i) {
        if (workload.users == 0 && workload.request_rate > 0) {
            now += arrivals.exponential() / workload.request_rate;
        }
        Request request{.arrival = Time::seconds(now)};
        request.prompt_tokens = length(workload.input_tokens);
        request.output_tokens = length(workload.output_tokens);
        requests.push_back(std::move(request));
    }
    return requests;
}

Result<std::int64_t> cache_blocks(const ServingSpec& spec,
                                  const Transformer& model,
                                  const DeviceSpec& device) {
    std::int64_t least = -1;
    for (std::int64_t stage = 0; stage < spec.plan.pipeline_model_parallel_size; ++stage) {
        const Bytes weights = serving_weight_bytes(model, spec.plan, stage);
        const std::int64_t used = weights.count() + spec.engine.reserved_memory.count();
        const std::int64_t shared = device.memory.count() - (spec.share_of_rest ? used : 0);
        const std::int64_t left =
            static_cast<std::int64_t>(spec.memory_share * static_cast<double>(shared)) -
            (spec.share_of_rest ? 0 : used);
        const std::int64_t block =
            key_value_bytes_of_rank(model, spec.plan, stage).count() * spec.limits.block_size;
        if (left < block) {
            return fail("",
                        fmt::format("{:.1f} GB of weights on a GPU of stage {} leave no room for a "
                                    "key-value cache in {:.1f} GB",
                                    static_cast<double>(weights.count()) * 1e-9,
                                    stage,
                                    static_cast<double>(device.memory.count()) * 1e-9),
                        "a larger tensor or pipeline size, or weights of fewer bits");
        }
        least = least < 0 ? left / block : std::min(least, left / block);
    }
    return least;
}

Result<ServingAnswer> serve_scenario(const Scenario& scenario,
                                     const ServingSpec& spec,
                                     const std::vector<Request>& requests,
                                     const ServingLoad& load,
                                     ServingResult* result) {
    const auto begin = std::chrono::steady_clock::now();
    auto prices = ServingPrices::make(scenario, scenario.model, spec.plan, spec.engine);
    if (!prices) {
        return tl::unexpected(prices.error());
    }
    const BatchingRules* rules = find_batching_rules(spec.scheduler);
    const std::unique_ptr<RequestRouter> router = make_request_router(spec.router, spec.seed);
    if (rules == nullptr || router == nullptr) {
        return fail("",
                    rules == nullptr ? fmt::format("no scheduler '{}'", spec.scheduler)
                                     : fmt::format("no router '{}'", spec.router));
    }
    ServingPool pool{.num_instances = static_cast<std::size_t>(spec.instances),
                     .rules = *rules,
                     .limits = spec.limits,
                     .cost = prices->get()};
    if (pool.limits.num_blocks == 0) {
        const auto blocks = cache_blocks(spec, scenario.model, scenario.device);
        if (!blocks) {
            return tl::unexpected(blocks.error());
        }
        pool.limits.num_blocks = *blocks;
    }
    ServingResult served = serve(requests, load, pool, *router);
    ServingAnswer answer;
    answer.seed = spec.seed;
    answer.cache_tokens = pool.limits.num_blocks * pool.limits.block_size;
    add_latencies(served, answer);
    add_use(served, requests, pool.limits.block_size, answer);
    answer.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (result != nullptr) {
        *result = std::move(served);
    }
    return answer;
}

}  // namespace orrery
