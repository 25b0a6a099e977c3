// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/serving_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "engine/base/counter_random.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

// A time for each request, in the order of their numbers, for batches of one.
class TimeOfRequest : public StepCost {
public:
    explicit TimeOfRequest(std::vector<Time> of) : of_(std::move(of)) {}
    void times(const Batch& batch, std::vector<Time>& stages) override {
        ASSERT_EQ(batch.steps.size(), 1U);
        stages[0] = of_[static_cast<std::size_t>(batch.steps.front().request)];
    }

private:
    std::vector<Time> of_;
};

ServingResult run(const std::vector<Request>& requests,
                  const ServingPool& pool,
                  std::int64_t users = 0,
                  const char* router = "round_robin") {
    const ServingLoad load{.users = users, .token_gaps = true};
    ServingResult result = serve(requests, load, pool, *make_request_router(router, 5));
    // Little's law, to the picosecond.
    __int128 sojourns = 0;
    for (const RequestRecord& record : result.records) {
        EXPECT_TRUE(record.finished() || record.refused);
        sojourns += record.refused ? 0 : record.end_to_end().picoseconds();
    }
    EXPECT_TRUE(sojourns == result.request_picoseconds);
    return result;
}

double mean_end_to_end(const ServingResult& result) {
    double sum = 0;
    for (const RequestRecord& record : result.records) {
        sum += record.end_to_end().seconds();
    }
    return sum / static_cast<double>(result.records.size());
}

// Two steps of 5e6 s end behind the last instant, and a step of Time::max() does not wrap round.
TEST(ServingRun, ARunThatComesToTheEndOfTheClockSaysSo) {
    for (const Time step : {Time::seconds(5e6), Time::max()}) {
        TimeOfRequest cost({step, step});
        const ServingPool pool{.rules = *find_batching_rules("static"),
                               .limits = {.max_num_seqs = 1, .num_blocks = 100},
                               .cost = &cost};
        const ServingResult result = serve(
            {{.prompt_tokens = 8, .output_tokens = 1}, {.prompt_tokens = 8, .output_tokens = 1}},
            {},
            pool,
            *make_request_router("round_robin", 1));
        EXPECT_TRUE(result.out_of_time);
        EXPECT_FALSE(result.records.back().finished());
        EXPECT_EQ(result.records.front().finished(), step != Time::max());
    }
}

// Pollaczek and Khinchine: the mean wait is rho (1 + cv^2) / (2 (1 - rho)) service times.
TEST(ServingRun, AQueueOfOneServerWaitsAsPollaczekAndKhinchineSay) {
    constexpr std::size_t kRequests = 400'000;
    const std::vector<Request> requests = poisson(kRequests, 0.8, 1);
    CounterRandom random(12, 0, 1);
    const auto wait = [&](auto draw) {
        std::vector<Time> times;
        for (std::size_t i = 0; i < kRequests; ++i) {
            times.push_back(Time::seconds(draw()));
        }
        double service = 0;
        for (const Time time : times) {
            service += time.seconds();
        }
        TimeOfRequest cost(std::move(times));
        return mean_end_to_end(run(requests, pool_of(cost, 1))) -
               service / static_cast<double>(kRequests);
    };
    EXPECT_NEAR(wait([] { return 1.0; }), 2, 0.06);
    EXPECT_NEAR(wait([&] { return random.exponential(); }), 4, 0.2);
    // A hyperexponential of squared coefficient of variation 3, by balanced means.
    const double p = 0.5 * (1 + std::sqrt(0.5));
    EXPECT_NEAR(
        wait([&] { return random.exponential() / (random.uniform() < p ? 2 * p : 2 * (1 - p)); }),
        8,
        0.6);
}

// Of the requests behind the first quarter, which meets a system that fills up.
double steady_end_to_end(const ServingResult& result) {
    const std::size_t first = result.records.size() / 4;
    double sum = 0;
    for (std::size_t i = first; i < result.records.size(); ++i) {
        sum += result.records[i].end_to_end().seconds();
    }
    return sum / static_cast<double>(result.records.size() - first);
}

// Many servers behind a router that draws two (Mitzenmacher 2001): the fixed point has a mean
// number of requests at a server of 2.352652 at rho = 0.9 and of 3.213894 at 0.95, which is rho
// response times; a random router's is that of M/M/1, 9.
TEST(ServingRun, TwoChoicesBeatOne) {
    constexpr std::size_t kServers = 300;
    constexpr std::size_t kRequests = 600'000;
    CounterRandom random(13, 0, 1);
    std::vector<double> drawn(kRequests);
    std::ranges::generate(drawn, [&] { return random.exponential(); });
    const double mean = std::accumulate(drawn.begin(), drawn.end(), 0.0) / kRequests;
    std::vector<Time> times(kRequests);
    std::ranges::transform(
        drawn, times.begin(), [&](double each) { return Time::seconds(each / mean); });
    TimeOfRequest cost(std::move(times));
    ServingPool pool = pool_of(cost, 1, kServers);
    pool.limits.num_blocks = 4;
    const auto number = [&](double load, const char* router) {
        return load *
               steady_end_to_end(run(poisson_at(kRequests, load * kServers), pool, 0, router));
    };
    EXPECT_NEAR(number(0.9, "power_of_two"), 2.352652, 0.05);
    EXPECT_NEAR(number(0.95, "power_of_two"), 3.213894, 0.1);
    EXPECT_NEAR(number(0.9, "random"), 9, 0.9);
}

// M/G/1 with processor sharing at rho = 0.8: five service times, whatever the lengths. A step
// without a fixed part serves all requests alike; 100 tokens take a second alone.
TEST(ServingRun, ASharedProcessorDoesNotAskForTheLengths) {
    LinearCost cost(Time{}, 10_ms);
    CounterRandom random(16, 0, 1);
    const auto response = [&](double share_of_short, std::int64_t shorter, std::int64_t longer) {
        std::vector<Request> requests = poisson_at(60'000, 0.8);
        double tokens = 0;
        for (Request& request : requests) {
            request.output_tokens = random.uniform() < share_of_short ? shorter : longer;
            tokens += static_cast<double>(request.output_tokens);
        }
        const double service = tokens / 100 / static_cast<double>(requests.size());
        for (Request& request : requests) {
            request.arrival = Time::seconds(request.arrival.seconds() * service);
        }
        return steady_end_to_end(run(requests, pool_of(cost))) / service;
    };
    EXPECT_NEAR(response(1, 100, 0), 5, 0.25);
    EXPECT_NEAR(response(0.8, 50, 300), 5, 0.25);
}

// N users: every step has N sequences, and yields N tokens in a + c N.
TEST(ServingRun, AClosedLoopHasTheThroughputOfItsStep) {
    LinearCost cost(20_ms, Time::picoseconds(500'000'000));
    for (const auto& [users, tokens_per_second] : {std::pair{32, 888.9}, {128, 1523.8}}) {
        std::vector<Request> requests(static_cast<std::size_t>(users) * 10,
                                      Request{.prompt_tokens = 1, .output_tokens = 200});
        const ServingResult result = run(requests, pool_of(cost), users);
        EXPECT_NEAR(static_cast<double>(requests.size()) * 200 / result.end.seconds(),
                    tokens_per_second,
                    0.05);
    }
}

// A step of a + c b with Poisson arrivals is processor sharing: E2E = O (a + c) / (1 - r O c), and
// at most one step more, in which the request waits for the running one.
TEST(ServingRun, ContinuousBatchingSharesTheProcessor) {
    LinearCost cost(20_ms, Time::picoseconds(500'000'000));
    const ServingResult result = run(poisson(20'000, 4, 200), pool_of(cost));
    EXPECT_NEAR(mean_end_to_end(result), 6.8333, 0.15);
    EXPECT_EQ(result.token_gaps.size(), 20'000U * 199);
}

// The server is idle for (1 - r O c)^(a/c + 1) of the time.
TEST(ServingRun, ContinuousBatchingIdlesAsItsBirthsAndDeathsSay) {
    LinearCost slow(20_ms, 200_us);
    EXPECT_NEAR(mean_end_to_end(run(poisson(20'000, 8, 200), pool_of(slow))), 5.9412, 0.15);
    LinearCost cost(1_ms, 500_us);
    const ServingResult result = run(poisson(20'000, 4, 200), pool_of(cost));
    EXPECT_NEAR(mean_end_to_end(result), 0.5, 0.01);
    EXPECT_NEAR(1 - result.instances.front().busy / result.end, 0.216, 0.01);
}

// The share of requests that find this many in the system when they come.
double share_that_finds(const ServingResult& result, std::ptrdiff_t sequences) {
    std::vector<Time> ends;
    for (const RequestRecord& record : result.records) {
        ends.push_back(record.last_token);
    }
    std::ranges::sort(ends);
    std::ptrdiff_t came = 0;
    std::ptrdiff_t found = 0;
    for (const RequestRecord& record : result.records) {
        const auto ended = std::ranges::upper_bound(ends, record.arrival) - ends.begin();
        found += came++ - ended >= sequences ? 1 : 0;
    }
    return static_cast<double>(found) / static_cast<double>(came);
}

// At most B sequences run, and lengths have no memory: births at r, deaths at n / (O (a + c n)).
TEST(ServingRun, ALimitOfSequencesMakesRequestsWait) {
    struct Case {
        std::int64_t most;
        double rate;
        double end_to_end;
        double full;
    };
    LinearCost cost(20_ms, 500_us);
    CounterRandom random(14, 0, 1);
    for (const Case& one : {Case{32, 4, 7.5877, 0.3621}, {16, 2, 5.2241, 0.0951}}) {
        std::vector<Request> requests = poisson(40'000, one.rate, 1);
        for (Request& request : requests) {
            // Geometric with a mean of 200.
            request.output_tokens =
                1 + static_cast<std::int64_t>(std::log(random.uniform()) / std::log(1 - 1.0 / 200));
        }
        const ServingResult result = run(requests, pool_of(cost, one.most));
        EXPECT_NEAR(mean_end_to_end(result) / one.end_to_end, 1, 0.06);
        EXPECT_NEAR(share_that_finds(result, one.most), one.full, 0.03);
    }
}

// Two and eight servers whose requests go to the one with the least work: Erlang's queue, a mean
// wait of C / (c - a) service times. Twenty tokens are a service time, and a step computes one.
TEST(ServingRun, ManyServersWaitAsErlangSays) {
    constexpr int kTokens = 20;
    for (const auto& [servers, load, wait] : {std::tuple{2U, 1.6, 1.777778}, {8U, 7.2, 0.876916}}) {
        CounterRandom random(15, 0, 1);
        std::vector<std::int64_t> tokens;
        for (int i = 0; i < 200'000; ++i) {
            tokens.push_back(static_cast<std::int64_t>(std::ceil(kTokens * random.exponential())));
        }
        const double service =
            1e-3 *
            static_cast<double>(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0})) /
            static_cast<double>(tokens.size());
        std::vector<Request> requests = poisson(tokens.size(), load / service, 1);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            requests[i].prompt_tokens = tokens[i];
        }
        LinearCost cost(1_ms, Time{});
        ServingPool pool = pool_of(cost, 1, servers);
        pool.limits.max_num_batched_tokens = 1;
        const double found = mean_end_to_end(run(requests, pool, 0, "least_tokens")) - service;
        EXPECT_NEAR(found / (wait * service), 1, 0.1);
    }
}

// Two of 100 requests may not be above a bound whose percentile leaves one there.
TEST(ServingRun, GivesUpWhereABoundIsCertainToBeMissed) {
    LinearCost cost(20_ms, Time::picoseconds(500'000'000));
    const std::vector<Request> requests = poisson(200, 4, 200);
    const auto with = [&](const ServingLoad::Bounds& bounds) {
        const ServingLoad load{.bounds = bounds};
        return serve(requests, load, pool_of(cost), *make_request_router("random", 5));
    };
    const ServingResult whole = with({});
    std::vector<Time> first;
    for (const RequestRecord& record : whole.records) {
        first.push_back(record.time_to_first_token());
    }
    std::ranges::sort(first);
    EXPECT_FALSE(with({.first_token = first[197]}).gave_up);
    const ServingResult ended = with({.first_token = first[196] - Time::picoseconds(1)});
    EXPECT_TRUE(ended.gave_up);
    EXPECT_LT(ended.end, whole.end);
    EXPECT_TRUE(with({.output_token = 20_ms}).gave_up);
    EXPECT_TRUE(with({.end_to_end = 20_ms}).gave_up);
    EXPECT_TRUE(whole.token_gaps.empty());
}

// Stages of equal length s and m batches of one sequence each: every sequence gets a token in
// max(m, p) s on average. The last of the batches under way ends min(m, p) - 1 stages later.
TEST(ServingRun, APipelineKeepsABatchOnEachStage) {
    constexpr std::size_t kStages = 4;
    LinearCost cost(1_ms, Time{}, kStages);
    for (const std::size_t users : {1, 3, 4, 8}) {
        ServingPool pool = pool_of(cost);
        pool.limits.max_num_batched_tokens = 1;
        const std::vector<Request> requests(users,
                                            Request{.prompt_tokens = 1, .output_tokens = 100});
        const ServingResult result = run(requests, pool, static_cast<std::int64_t>(users));
        EXPECT_EQ(result.end,
                  1_ms * static_cast<std::int64_t>(std::max(users, kStages) * 100 +
                                                   std::min(users, kStages) - 1))
            << users;
    }
}

ServingResult run_split(const std::vector<Request>& requests,
                        const SplitPools& pools,
                        std::int64_t users = 0) {
    const auto router = make_request_router("round_robin", 1);
    const auto other = make_request_router("least_tokens", 1);
    ServingResult result = serve(requests, {.users = users}, pools, *router, *other);
    for (const RequestRecord& record : result.records) {
        EXPECT_TRUE(record.finished() || record.refused);
    }
    return result;
}

TEST(ServingRun, APromptMovesBeforeTheRestIsGenerated) {
    LinearCost prompts(30_ms, Time{});
    LinearCost generation(10_ms, Time{});
    UnsharedTransport transport(1_us);
    const SplitPools pools{pool_of(prompts), pool_of(generation), &transport};
    const std::vector<Request> requests{{.prompt_tokens = 500, .output_tokens = 5},
                                        {.prompt_tokens = 100, .output_tokens = 1}};
    const ServingResult result = run_split(requests, pools);
    EXPECT_EQ(result.records[0].time_to_first_token(), 30_ms);
    EXPECT_EQ(result.records[0].end_to_end(), 30_ms + 500_us + 10_ms * 4);
    // A single token needs no other instance.
    EXPECT_EQ(result.records[1].end_to_end(), 30_ms);
    EXPECT_EQ(transport.started, 1);
    ASSERT_EQ(result.instances.size(), 2U);
    EXPECT_EQ(result.instances[0].computed_tokens, 600);
    EXPECT_EQ(result.instances[1].computed_tokens, 4);
}

// A full decode instance leaves the prompt's blocks where they are, and the prompt instance stalls.
TEST(ServingRun, APromptKeepsItsBlocksUntilTheyAreRead) {
    LinearCost cost(10_ms, Time{});
    UnsharedTransport transport(1_us);
    SplitPools pools{pool_of(cost), pool_of(cost), &transport};
    pools.prompts.limits = {.max_num_seqs = 8, .block_size = 4, .num_blocks = 2};
    pools.generation.limits = {.max_num_seqs = 1, .block_size = 4, .num_blocks = 4};
    const std::vector<Request> requests(3, Request{.prompt_tokens = 8, .output_tokens = 3});
    const ServingResult result = run_split(requests, pools);
    EXPECT_EQ(result.records[0].end_to_end(), 10_ms + 8_us + 20_ms);
    // The second prompt begins when the first one was read, and waits for the first one's place.
    EXPECT_EQ(result.records[1].first_token, 20_ms + 8_us);
    EXPECT_EQ(result.records[1].last_token, 30_ms + 8_us + 8_us + 20_ms);
    EXPECT_EQ(result.records[2].first_scheduled, 30_ms + 16_us);
    EXPECT_EQ(result.records[0].cache_wait, Time{});
    EXPECT_EQ(result.records[0].cache_move, 8_us);
    EXPECT_EQ(result.records[1].cache_wait, 10_ms);
    EXPECT_EQ(result.records[1].cache_move, 8_us);
}

// Two sequences of 4 blocks in a cache of 5: the younger one gives way until the older has ended.
TEST(ServingRun, APreemptedSequenceKnowsHowLongItWaited) {
    LinearCost cost(10_ms, Time{});
    ServingPool pool = pool_of(cost);
    pool.limits = {.block_size = 4, .num_blocks = 5};
    const std::vector<Request> requests(2, Request{.prompt_tokens = 5, .output_tokens = 10});
    const ServingResult result = run(requests, pool);
    EXPECT_EQ(result.records[0].preemptions, 0);
    EXPECT_EQ(result.records[0].preempted, Time{});
    ASSERT_EQ(result.records[1].preemptions, 1);
    EXPECT_EQ(result.records[0].last_token, 100_ms);
    // It gives way in the fifth step, when both need a third block.
    EXPECT_EQ(result.records[1].preempted, 100_ms - 40_ms);
    EXPECT_EQ(result.records[1].last_token, 100_ms + 60_ms);
}

// Keeps all steps.
class AllSteps : public ServingObserver {
public:
    void completed(const ServedStep& step) override { all.push_back(step); }
    std::vector<ServedStep> all;
};

TEST(ServingRun, AnObserverSeesEveryStep) {
    LinearCost prompts(30_ms, Time{});
    LinearCost generation(10_ms, Time{}, 2);
    UnsharedTransport transport(1_us);
    const SplitPools pools{pool_of(prompts), pool_of(generation), &transport};
    const std::vector<Request> requests{{.prompt_tokens = 500, .output_tokens = 3},
                                        {.arrival = 5_ms, .prompt_tokens = 1, .output_tokens = 1}};
    AllSteps steps;
    const ServingResult result = serve(requests,
                                       {},
                                       pools,
                                       *make_request_router("round_robin", 1),
                                       *make_request_router("round_robin", 1),
                                       {},
                                       {.observer = &steps});
    ASSERT_EQ(steps.all.size(), 4U);
    const ServedStep& first = steps.all[0];
    EXPECT_EQ(first.pool, 0U);
    EXPECT_EQ(first.end, 30_ms);
    EXPECT_EQ(first.prompts, 1);
    EXPECT_EQ(first.prompt_tokens, 500);
    EXPECT_EQ(first.generating, 0);
    EXPECT_EQ(first.waiting, 1);
    EXPECT_GT(first.cache, 0);
    const ServedStep& second = steps.all[1];  // of two stages
    EXPECT_EQ(second.pool, 1U);
    EXPECT_EQ(second.instance, 0U);
    EXPECT_EQ(second.begin, 30_ms + 500_us);
    EXPECT_EQ(second.first_stage_end, second.begin + 10_ms);
    EXPECT_EQ(second.end, second.begin + 20_ms);
    EXPECT_EQ(second.generating, 1);
    EXPECT_EQ(second.prompts, 0);
    Time busy;
    for (const ServedStep& step : steps.all) {
        busy += step.first_stage_end - step.begin;
    }
    EXPECT_EQ(busy, result.instances[0].busy + result.instances[1].busy);
}

TEST(ServingRun, SplitPoolsServeEveryRequestUnderPressure) {
    LinearCost prompts(3_ms, 1_ms);
    LinearCost generation(1_ms, Time::picoseconds(100'000'000));
    CounterRandom random(21, 0, 1);
    for (const std::int64_t users : {0, 7, 40}) {
        std::vector<Request> requests = poisson(300, 100, 1);
        for (Request& request : requests) {
            request.prompt_tokens = 1 + static_cast<std::int64_t>(random.next() % 60);
            request.output_tokens = 1 + static_cast<std::int64_t>(random.next() % 60);
        }
        UnsharedTransport transport(20_us);
        SplitPools pools{pool_of(prompts, 8, 2), pool_of(generation, 16, 3), &transport};
        pools.prompts.limits.block_size = pools.generation.limits.block_size = 4;
        pools.prompts.limits.num_blocks = 60;
        pools.generation.limits.num_blocks = 60;
        const ServingResult result = run_split(requests, pools, users);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            EXPECT_EQ(result.records[i].output_tokens, requests[i].output_tokens);
        }
    }
}

// k proposals of which each is accepted with probability a if those before it were: a step yields
// (1 - a^(k+1)) / (1 - a) tokens (Leviathan et al., ICML 2023, equation 1).
TEST(ServingRun, ProposalsYieldTokensAsLeviathanSays) {
    struct Golden {
        double acceptance;
        std::int64_t drafts;
        double tokens;
    };
    for (const Golden& golden : {Golden{0.6, 1, 1.6},
                                 Golden{0.7, 3, 2.533},
                                 Golden{0.8, 5, 3.68928},
                                 Golden{0.9, 7, 5.69533},
                                 Golden{0, 4, 1},
                                 Golden{1, 4, 5}}) {
        LinearCost cost(10_ms, Time{});
        ServingPool pool = pool_of(cost);
        pool.limits.draft_tokens = golden.drafts;
        pool.acceptance = golden.acceptance;
        const std::vector<Request> requests(1, {.prompt_tokens = 10, .output_tokens = 60'000});
        const ServingResult result = run(requests, pool);
        const InstanceTotals& totals = result.instances.front();
        // The first step computes the prompt and yields one token.
        EXPECT_NEAR(
            59'999.0 / static_cast<double>(totals.batches - 1), golden.tokens, 0.01 * golden.tokens)
            << golden.acceptance << " " << golden.drafts;
        EXPECT_EQ(result.records.front().output_tokens, 60'000);
        // Token conservation: prompts + outputs - requests + rejected proposals.
        EXPECT_EQ(totals.computed_tokens,
                  10 + 60'000 - 1 + totals.drafted_tokens - totals.accepted_tokens);
    }
}

TEST(ServingRun, ProposalsUnderPressureLoseNoToken) {
    LinearCost cost(1_ms, 1_ms);
    CounterRandom random(8, 0, 1);
    for (const BatchingRules& rules : batching_rules()) {
        std::vector<Request> requests = poisson(200, 100, 1);
        for (Request& request : requests) {
            request.prompt_tokens = 1 + static_cast<std::int64_t>(random.next() % 60);
            request.output_tokens = 1 + static_cast<std::int64_t>(random.next() % 60);
        }
        ServingPool pool = pool_of(cost, 8, 2);
        pool.rules = rules;
        pool.limits.block_size = 4;
        pool.limits.num_blocks = 60;
        pool.limits.draft_tokens = 3;
        pool.acceptance = 0.5;
        const ServingResult result = run(requests, pool);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            EXPECT_EQ(result.records[i].output_tokens, requests[i].output_tokens) << rules.name;
        }
    }
}

TEST(ServingRun, ARequestThatCanNeverFitIsRefusedAndCounted) {
    LinearCost cost(1_ms, Time{});
    ServingPool pool = pool_of(cost);
    pool.limits.num_blocks = 2;
    const std::vector<Request> requests{
        {.prompt_tokens = 40}, {.prompt_tokens = 8, .output_tokens = 2}, {.prompt_tokens = 33}};
    for (const std::int64_t users : {0, 1, 2}) {
        const ServingResult result = run(requests, pool, users);
        EXPECT_TRUE(result.records[0].refused);
        EXPECT_EQ(result.records[1].end_to_end(), 2_ms);
        EXPECT_TRUE(result.records[2].refused);
    }
}

}  // namespace
}  // namespace orrery
