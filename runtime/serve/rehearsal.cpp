// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/rehearsal.h"

#include <algorithm>

#include "engine/base/statistics.h"
#include "runtime/serve/replay_load.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostRequests = 64;
constexpr std::int64_t kMostTokens = 64;              // of a request's output
constexpr Time kMostSeconds = Time::seconds(5);       // predicted time of a rehearsal
constexpr Time kLongestGap = Time::seconds(0.1);      // threads and CPU sleep long before this
constexpr std::uint64_t kPromptsApart = 0x5265'6865;  // different prompts from those of the run

// The first `count` requests; the load is repeated if it has fewer.
std::vector<Request> first_requests(const LoadToRehearse& load, std::int64_t count) {
    std::vector<Request> requests;
    Time arrival;
    Time before;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto number = static_cast<std::size_t>(i % std::ssize(load.requests));
        const Request& asked = load.requests[number];
        // A repetition begins after the same gap as the first request.
        arrival += std::min(kLongestGap, number == 0 ? asked.arrival : asked.arrival - before);
        before = asked.arrival;
        requests.push_back({.arrival = arrival,
                            .prompt_tokens = asked.prompt_tokens,
                            .output_tokens = std::min(asked.output_tokens, kMostTokens),
                            .adapter = asked.adapter});
    }
    return requests;
}

ServingPool simulated_pool(const LivePool& pool, MeasuredStepCost& cost) {
    return {.num_instances = pool.instances.size(),
            .rules = pool.rules,
            .limits = pool.limits,
            .cost = &cost};
}

// The median over the requests of the additional time until a step includes them.
Time longer_queue(const ServingResult& served, const ServingResult& simulated) {
    std::vector<double> longer;
    for (std::size_t i = 0; i < served.records.size(); ++i) {
        const RequestRecord& one = served.records[i];
        const RequestRecord& other = simulated.records[i];
        if (one.finished() && other.finished()) {
            longer.push_back((one.first_scheduled - one.arrival).seconds() -
                             (other.first_scheduled - other.arrival).seconds());
        }
    }
    return longer.empty() ? Time{} : Time::seconds(std::max(0.0, median(longer)));
}

}  // namespace

std::vector<Request> rehearsed_requests(const std::vector<LivePool>& pools,
                                        const LoadToRehearse& load,
                                        const ServedCosts& costs) {
    std::int64_t count = load.requests.empty() ? 0 : kMostRequests;
    while (count > 1) {
        const std::vector<Request> requests = first_requests(load, count);
        if (simulate_served(pools, requests, load.users, costs).result.end <= kMostSeconds) {
            return requests;
        }
        count -= std::max<std::int64_t>(1, count / 8);
    }
    return first_requests(load, count);
}

MeasuredStepCost corrected(const MeasuredStepCost& cost, const std::vector<RehearsedStep>& steps) {
    constexpr auto kWaking = static_cast<std::int64_t>(MeasuredStepCost::kWakingSteps);
    double cost_s = 0;
    double took_s = 0;
    for (const RehearsedStep& step : steps) {
        if (step.steps_awake >= kWaking) {
            cost_s += step.cost_s;
            took_s += step.took_s;
        }
    }
    MeasuredStepCost::Fit fit = cost.fit();
    const double slower = cost_s > 0 ? took_s / cost_s : 1;
    fit.slower *= slower;
    std::array<double, MeasuredStepCost::kWakingSteps> counts{};
    std::array<double, MeasuredStepCost::kWakingSteps> longer{};
    for (const RehearsedStep& step : steps) {
        if (step.steps_awake < kWaking) {
            const auto number = static_cast<std::size_t>(step.steps_awake);
            ++counts[number];
            longer[number] += step.took_s - slower * step.cost_s;
        }
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
        fit.waking_s[i] = counts[i] > 0 ? std::max(0.0, longer[i] / counts[i]) : 0;
    }
    return MeasuredStepCost{fit};
}

Result<void> rehearse(const std::vector<LivePool>& pools,
                      const LoadToRehearse& load,
                      ServedCosts& costs) {
    const std::vector<Request> requests = rehearsed_requests(pools, load, costs);
    if (requests.empty()) {
        return {};
    }
    const std::uint64_t seed = load.seed ^ kPromptsApart;
    const auto prompts = drawn_prompts(requests, load.vocabulary, seed);
    std::vector<std::vector<RehearsedStep>> steps;  // by instance; filled by its thread
    std::vector<std::size_t> pool_of;
    for (std::size_t pool = 0; pool < pools.size(); ++pool) {
        pool_of.insert(pool_of.end(), pools[pool].instances.size(), pool);
    }
    steps.resize(pool_of.size());
    const auto note = [&](const LiveStep& step) {
        const double cost_s = costs.steps[pool_of[step.instance]].seconds_of(step.batch);
        steps[step.instance].push_back({cost_s, step.steps_awake, step.took.seconds()});
    };
    LiveServer server{pools, {.context = load.context, .salt = seed, .on_step = note}};
    const auto replayed = replay_load(server, requests, prompts, {.users = load.users});
    server.stop();
    if (!replayed) {
        return unexpected<Error>(replayed.error());
    }
    for (std::size_t pool = 0; pool < pools.size(); ++pool) {
        std::vector<RehearsedStep> of_pool;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (pool_of[i] == pool) {
                of_pool.insert(of_pool.end(), steps[i].begin(), steps[i].end());
            }
        }
        costs.steps[pool] = corrected(costs.steps[pool], of_pool);
    }
    const SimulatedLoad simulated = simulate_served(pools, requests, load.users, costs);
    costs.front_end = longer_queue(replayed->result, simulated.result);
    const LiveCounters counters = server.counters();
    if (counters.moves > 0 && simulated.moves > 0) {
        const double longer = counters.moving.seconds() / static_cast<double>(counters.moves) -
                              simulated.moving.seconds() / static_cast<double>(simulated.moves);
        costs.moves.fixed_s = std::max(0.0, costs.moves.fixed_s + longer);
    }
    return {};
}

SimulatedLoad simulate_served(const std::vector<LivePool>& pools,
                              const std::vector<Request>& requests,
                              std::int64_t users,
                              ServedCosts costs) {
    const ServingLoad load{.users = users, .front_end = costs.front_end};
    const ServingPool first = simulated_pool(pools.front(), costs.steps.front());
    if (pools.size() == 1) {
        return {.result = serve(requests, load, first, *pools.front().router)};
    }
    QueuedCacheTransport transport{costs.moves};
    SimulatedLoad simulated{
        .result = serve(requests,
                        load,
                        SplitPools{.prompts = first,
                                   .generation = simulated_pool(pools[1], costs.steps[1]),
                                   .transport = &transport},
                        *pools[0].router,
                        *pools[1].router)};
    simulated.moves = transport.moves();
    simulated.moved_tokens = transport.tokens();
    simulated.moving = transport.total();
    return simulated;
}

}  // namespace orrery
