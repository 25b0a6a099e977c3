// SPDX-License-Identifier: Apache-2.0
// Instances that stop or slow down while they serve (engine/serving/instance_faults.h).
#include <gtest/gtest.h>

#include "engine/base/counter_random.h"
#include "engine/serving/serving_run.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

ServingResult serve_one_pool(const std::vector<Request>& requests,
                             const ServingPool& pool,
                             const ServingFaults& faults,
                             const char* router = "round_robin") {
    return serve(requests, {}, pool, *make_request_router(router, 1), faults);
}

ServingResult serve_split(const std::vector<Request>& requests,
                          const SplitPools& pools,
                          const ServingFaults& faults) {
    return serve(requests,
                 {},
                 pools,
                 *make_request_router("round_robin", 1),
                 *make_request_router("round_robin", 1),
                 faults);
}

// Steps of 10 ms, prompts of 8 tokens, 5 outputs: 50 ms alone.
const Request kFiveTokens{.prompt_tokens = 8, .output_tokens = 5};

TEST(ServingFaults, TheTokensOfALostCacheAreComputedAgain) {
    LinearCost cost(10_ms, Time{});
    const ServingFaults faults{
        .outages = {{.instance = 0, .begin = 25_ms, .noticed = 32_ms, .end = 1000_ms}},
        .slowdowns = {}};
    const ServingResult result =
        serve_one_pool({kFiveTokens}, pool_of(cost, 1024, 2), faults);
    // Two tokens at 10 and 20 ms. The third step is lost; at 32 ms the other instance computes the
    // prompt and both tokens in one step, which yields the third.
    EXPECT_EQ(result.records[0].output_tokens, 5);
    EXPECT_EQ(result.records[0].moves, 1);
    EXPECT_EQ(result.records[0].longest_gap, 22_ms);
    EXPECT_EQ(result.records[0].last_token, 62_ms);
    EXPECT_EQ(result.outages[0].moved_requests, 1);
    EXPECT_EQ(result.outages[0].lost_tokens, 10);
    EXPECT_EQ(result.instances[1].computed_tokens, 10 + 2);
}

TEST(ServingFaults, RequestsGoToADeadInstanceUntilThatIsNoticed) {
    LinearCost cost(10_ms, Time{});
    const ServingFaults faults{
        .outages = {{.instance = 1, .begin = 1_ms, .noticed = 100_ms, .end = 400_ms}},
        .slowdowns = {}};
    std::vector<Request> requests(4, kFiveTokens);
    requests[1].arrival = 5_ms;    // to instance 1, by turns
    requests[2].arrival = 150_ms;  // both to the only one that is known to live
    requests[3].arrival = 150_ms;
    const ServingResult result = serve_one_pool(requests, pool_of(cost, 1024, 2), faults);
    EXPECT_EQ(result.records[0].end_to_end(), 50_ms);
    EXPECT_EQ(result.records[1].last_token, 150_ms);
    EXPECT_EQ(result.records[1].moves, 1);
    EXPECT_EQ(result.records[2].end_to_end(), 50_ms);
    EXPECT_EQ(result.records[3].end_to_end(), 50_ms);
    EXPECT_EQ(result.instances[1].batches, 0);
    EXPECT_EQ(result.outages[0].lost_tokens, 0);
}

TEST(ServingFaults, RequestsWaitWhereNoInstanceIsLeft) {
    LinearCost cost(10_ms, Time{});
    const ServingFaults faults{
        .outages = {{.instance = 0, .begin = 25_ms, .noticed = 30_ms, .end = 200_ms}},
        .slowdowns = {}};
    std::vector<Request> requests(2, kFiveTokens);
    requests[1].arrival = 100_ms;
    const ServingResult result = serve_one_pool(requests, pool_of(cost), faults);
    EXPECT_EQ(result.records[0].last_token, 200_ms + 10_ms * 3);
    EXPECT_EQ(result.records[1].last_token, 200_ms + 10_ms * 5);
}

TEST(ServingFaults, AFaultOfAnIdleInstanceOrAfterTheEndChangesNothing) {
    LinearCost cost(10_ms, Time{});
    const ServingFaults faults{
        .outages = {{.instance = 1, .begin = 1_ms, .noticed = 2_ms, .end = 3_ms},
                    {.instance = 0, .begin = 51_ms, .noticed = 60_ms, .end = Time::max()}},
        .slowdowns = {{.instance = 1, .begin = 1_ms, .end = Time::max(), .factor = 2}}};
    const ServingResult result =
        serve_one_pool({kFiveTokens}, pool_of(cost, 1024, 2), faults);
    EXPECT_EQ(result.end, 50_ms);
    EXPECT_EQ(result.outages[1].moved_requests, 0);
}

TEST(ServingFaults, AStepThatBeginsInASlowTimeIsSlow) {
    LinearCost cost(10_ms, Time{});
    const ServingFaults faults{
        .outages = {},
        .slowdowns = {{.instance = 0, .begin = 15_ms, .end = 41_ms, .factor = 1.5}}};
    // Steps end at 10, 20, then 35 and 50 at one and a half times, then 60.
    EXPECT_EQ(serve_one_pool({kFiveTokens}, pool_of(cost), faults).end, 60_ms);
}

struct Split {
    LinearCost prompts{30_ms, Time{}};
    LinearCost generation{10_ms, Time{}};
    UnsharedTransport transport{1_ms};
    SplitPools pools{pool_of(prompts, 1024, 2), pool_of(generation, 1024, 2), &transport};
    // Alone: the prompt until 30 ms, the transfer until 38, steps until 78.
    std::vector<Request> requests{kFiveTokens};
};

TEST(ServingFaults, AnotherInstanceThatGeneratesPullsThePromptAgain) {
    Split split;
    const ServingFaults faults{
        .outages = {{.instance = 2, .begin = 35_ms, .noticed = 40_ms, .end = 1000_ms}},
        .slowdowns = {}};
    const ServingResult result = serve_split(split.requests, split.pools, faults);
    EXPECT_EQ(result.records[0].last_token, 40_ms + 8_ms + 40_ms);
    EXPECT_EQ(split.transport.started, 2);
    EXPECT_EQ(split.transport.cancelled, 1);
    EXPECT_EQ(result.outages[0].lost_tokens, 0);
}

TEST(ServingFaults, ALostCacheIsComputedAgainOrPulledFromTheHostsCopy) {
    for (const LostCache lost : {LostCache::recompute, LostCache::copy}) {
        Split split;
        // In the third step of the generation, which has two tokens more than the prompt's one.
        const ServingFaults faults{
            .outages = {{.instance = 2, .begin = 59_ms, .noticed = 60_ms, .end = 1000_ms}},
            .slowdowns = {},
            .lost_cache = lost};
        const ServingResult result = serve_split(split.requests, split.pools, faults);
        const bool copy = lost == LostCache::copy;
        // One step computes what is lost and yields the fourth token, another one the fifth.
        EXPECT_EQ(result.records[0].last_token, 60_ms + (copy ? 8_ms : Time{}) + 20_ms);
        EXPECT_EQ(result.instances[3].computed_tokens, (copy ? 0 : 8) + 3 + 1);
        EXPECT_EQ(result.outages[0].lost_tokens, (copy ? 0 : 8) + 3);
        EXPECT_EQ(split.transport.started, copy ? 2 : 1);
    }
}

TEST(ServingFaults, APromptWhoseInstanceStopsIsComputedWhereItGenerates) {
    Split split;
    // Within the transfer, and before the instance that generates has noticed.
    const ServingFaults faults{
        .outages = {{.instance = 0, .begin = 35_ms, .noticed = 40_ms, .end = 1000_ms}},
        .slowdowns = {},
        .lost_cache = LostCache::copy};
    const ServingResult result = serve_split(split.requests, split.pools, faults);
    EXPECT_EQ(result.records[0].last_token, 40_ms + 40_ms);
    EXPECT_EQ(result.records[0].moves, 0);
    EXPECT_EQ(result.instances[2].computed_tokens, 8 + 1 + 3);
    EXPECT_EQ(result.outages[0].lost_tokens, 8);
    // Within the prompt itself: another instance computes it.
    Split other;
    const ServingFaults early{
        .outages = {{.instance = 0, .begin = 10_ms, .noticed = 20_ms, .end = 1000_ms}},
        .slowdowns = {}};
    EXPECT_EQ(serve_split(other.requests, other.pools, early).records[0].last_token,
              20_ms + 78_ms);
}

// Little's law and every token, whatever stops, slows down and waits.
TEST(ServingFaults, NoTokenIsLostUnderManyFaults) {
    LinearCost prompts(3_ms, 1_ms);
    LinearCost generation(1_ms, Time::picoseconds(100'000'000));
    CounterRandom random(31, 0, 1);
    const auto draw = [&](std::uint64_t below) {
        return static_cast<std::int64_t>(random.next() % below);
    };
    for (int trial = 0; trial < 60; ++trial) {
        std::vector<Request> requests = poisson(200, 100, 1);
        for (Request& request : requests) {
            request.prompt_tokens = 1 + draw(60);
            request.output_tokens = 1 + draw(60);
        }
        UnsharedTransport transport(100_us);
        SplitPools pools{pool_of(prompts, 8, 2), pool_of(generation, 16, 3), &transport};
        pools.prompts.limits.block_size = pools.generation.limits.block_size = 4;
        pools.prompts.limits.num_blocks = pools.generation.limits.num_blocks = 60;
        const auto rules = batching_rules();
        pools.prompts.rules = rules[static_cast<std::size_t>(draw(rules.size()))];
        pools.generation.rules = rules[static_cast<std::size_t>(draw(rules.size()))];
        const bool split = trial % 3 != 0;
        ServingFaults faults{.outages = {},
                             .slowdowns = {},
                             .lost_cache = trial % 2 == 0 ? LostCache::copy : LostCache::recompute};
        for (std::size_t instance = 0; instance < (split ? 5U : 2U); ++instance) {
            Time at = 1_ms * draw(600);
            for (int i = 0; i < 4; ++i) {
                const Time noticed = at + 1_ms * draw(40);
                const Time end = noticed + 1_ms * draw(300);
                faults.outages.push_back(
                    {.instance = instance, .begin = at, .noticed = noticed, .end = end});
                at = end + 1_ms * draw(400);
            }
            faults.slowdowns.push_back({.instance = instance,
                                        .begin = 1_ms * draw(900),
                                        .end = 1000_ms,
                                        .factor = 1.0 + 0.1 * static_cast<double>(draw(20))});
        }
        const std::int64_t users = trial % 5 == 0 ? 20 : 0;
        const auto router = make_request_router("least_tokens", 1);
        const auto other = make_request_router("power_of_two", 1);
        const ServingResult result =
            split ? serve(requests, {.users = users}, pools, *router, *other, faults)
                  : serve(requests, {.users = users}, pools.prompts, *router, faults);
        __int128 sojourns = 0;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            ASSERT_TRUE(result.records[i].finished()) << trial << " " << i;
            EXPECT_EQ(result.records[i].output_tokens, requests[i].output_tokens);
            sojourns += result.records[i].end_to_end().picoseconds();
        }
        EXPECT_TRUE(sojourns == result.request_picoseconds) << trial;
        std::int64_t lost = 0;
        for (const OutageEffect& effect : result.outages) {
            lost += effect.lost_tokens;
        }
        EXPECT_GT(lost, 0);
    }
}

}  // namespace
}  // namespace orrery
