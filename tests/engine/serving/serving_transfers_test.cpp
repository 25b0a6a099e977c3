// SPDX-License-Identifier: Apache-2.0
// Keys and values that come from the tiers below a cache (engine/serving/cache_tiers.h).
#include <gtest/gtest.h>

#include "engine/base/counter_random.h"
#include "engine/serving/layer_wise.h"
#include "engine/serving/serving_run.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

// 80 layers of computation 1 and transfers of 0.25 or 1.5 leave 0.25 or 41 exposed.
TEST(LayerWise, TransfersHideBehindTheComputationOfOtherLayers) {
    EXPECT_EQ(layer_wise_time(80_ms, 20_ms, 80), 80_ms + 250_us);
    EXPECT_EQ(layer_wise_time(80_ms, 120_ms, 80), 80_ms + 41_ms);
    EXPECT_EQ(layer_wise_time(80_ms, Time{}, 80), 80_ms);
    EXPECT_EQ(layer_wise_time(80_ms, 20_ms, 1), 100_ms);
}

// Four blocks of four tokens. The second prompt takes them all, and the third one equals the first.
struct TwiceAsked {
    explicit TwiceAsked(TierLoading loading, Time of_block, TierWrites writes = TierWrites::evicted)
        : tiers({{.kind = TierKind::dram, .blocks = 8}}, writes, loading, 1),
          transport(Time{}, of_block) {
        pool.limits = {.block_size = 4, .num_blocks = 4};
        pool.layers = 80;
    }
    ServingResult run(const ServingFaults& faults = {}) {
        return serve(requests,
                     {},
                     pool,
                     *make_request_router("round_robin", 1),
                     faults,
                     {.tiers = &tiers, .hosts = {0, 0}, .loads = &transport});
    }
    std::vector<Request> requests{
        {.prompt_tokens = 9, .prefix_hashes = {1, 2}},
        {.arrival = 1000_ms, .prompt_tokens = 13, .prefix_hashes = {5, 6, 7}},
        {.arrival = 2000_ms, .prompt_tokens = 9, .prefix_hashes = {1, 2}}};
    LinearCost cost{80_ms, Time{}};
    ServingPool pool = pool_of(cost);
    CacheTiers tiers;
    UnsharedTransport transport;
};

TEST(ServingTransfers, AStepWaitsForBlocksLayerByLayer) {
    for (const auto& [of_block, end] :
         {std::pair{10_ms, 80_ms + 250_us}, {60_ms, 121_ms}, {Time{}, 80_ms}}) {
        TwiceAsked asked(TierLoading::layer_wise, of_block);
        const ServingResult result = asked.run();
        EXPECT_EQ(result.records[0].end_to_end(), 80_ms);
        EXPECT_EQ(result.records[0].loaded_tokens, 0);
        EXPECT_EQ(result.records[2].end_to_end(), end);
        EXPECT_EQ(result.records[2].cached_tokens, 8);
        EXPECT_EQ(result.records[2].loaded_tokens, 8);
        EXPECT_EQ(result.instances[0].computed_tokens, 9 + 13 + 1);
        EXPECT_EQ(result.instances[0].exposed_loads, end - 80_ms);
    }
}

TEST(ServingTransfers, ARequestMayWaitForItsBlocksWhileOthersRun) {
    TwiceAsked asked(TierLoading::ahead, 10_ms);
    asked.requests.push_back({.arrival = 2010_ms, .prompt_tokens = 3});
    const ServingResult result = asked.run();
    EXPECT_EQ(result.records[2].first_scheduled, 2000_ms);
    // The blocks are there at 2020 ms, in the middle of the other request's step.
    EXPECT_EQ(result.records[3].end_to_end(), 80_ms);
    EXPECT_EQ(result.records[2].last_token, 2090_ms + 80_ms);
    EXPECT_EQ(result.records[2].loaded_tokens, 8);
}

// Blocks that are written when they are computed are below before the cache loses them.
TEST(ServingTransfers, ASecondInstanceFindsWhatTheFirstOneComputed) {
    for (const auto& [writes, loaded] :
         {std::pair{TierWrites::computed, 8}, {TierWrites::evicted, 0}}) {
        TwiceAsked asked(TierLoading::ahead, 10_ms, writes);
        asked.pool.num_instances = 2;
        asked.requests[1] = asked.requests[0];
        asked.requests[1].arrival = 1000_ms;
        asked.requests.resize(2);
        const ServingResult result = asked.run();
        EXPECT_EQ(result.records[1].loaded_tokens, loaded);
        EXPECT_EQ(result.records[1].end_to_end(), loaded > 0 ? 100_ms : 80_ms);
    }
}

TEST(ServingTransfers, AnInstanceThatStopsGivesItsLoadsUp) {
    for (const TierLoading loading : {TierLoading::ahead, TierLoading::layer_wise}) {
        TwiceAsked asked(loading, 60_ms);
        const ServingFaults faults{
            .outages = {{.instance = 0, .begin = 2050_ms, .noticed = 2060_ms, .end = 3000_ms}},
            .slowdowns = {}};
        const ServingResult result = asked.run(faults);
        EXPECT_EQ(asked.transport.cancelled, 1);
        EXPECT_EQ(result.records[2].moves, 1);
        EXPECT_EQ(result.records[2].last_token,
                  3000_ms + (loading == TierLoading::ahead ? 200_ms : 121_ms));
    }
}

// The decode instance has room for one sequence. The second request's first token comes when it
// joins a step there, and its other tokens follow as without streams.
TEST(ServingTransfers, ADecodeInstanceSendsTheFirstTokenWhenARequestJoins) {
    LinearCost cost(10_ms, Time{});
    UnsharedTransport transport(1_us);
    SplitPools pools{pool_of(cost), pool_of(cost, 1), &transport};
    const std::vector<Request> requests(2, Request{.prompt_tokens = 8, .output_tokens = 3});
    const auto run = [&](bool streams, Time response = {}) {
        pools.streams_from_generation = streams;
        return serve(requests,
                     {.response = response},
                     pools,
                     *make_request_router("round_robin", 1),
                     *make_request_router("round_robin", 1));
    };
    // Responses of 2 ms: behind that of the first request's last token, from 30.008 ms on.
    EXPECT_EQ(run(true, 2_ms).records[1].first_token, 34_ms + 8_us);
    const ServingResult at_once = run(false);
    const ServingResult joined = run(true);
    EXPECT_EQ(at_once.records[0].first_token, 10_ms);
    EXPECT_EQ(at_once.records[1].first_token, 10_ms);
    EXPECT_EQ(joined.records[0].first_token, 10_ms + 8_us);
    EXPECT_EQ(joined.records[1].first_token, 30_ms + 16_us);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(joined.records[i].last_token, at_once.records[i].last_token);
        EXPECT_EQ(joined.records[i].longest_gap, 10_ms);
    }
}

// The second prompt ends in the middle of the decode instance's step from 20 to 30 ms. Its cache
// leaves at the step's end and arrives in the middle of the next one.
TEST(ServingTransfers, ADecodeInstanceThatStreamsPullsBetweenItsSteps) {
    LinearCost cost(10_ms, Time{});
    UnsharedTransport transport(1_us);
    SplitPools pools{pool_of(cost), pool_of(cost, 2), &transport};
    const std::vector<Request> requests{{.prompt_tokens = 8, .output_tokens = 9},
                                        {.arrival = 12_ms, .prompt_tokens = 8, .output_tokens = 3}};
    const auto second = [&](bool streams) {
        pools.streams_from_generation = streams;
        return serve(requests,
                     {},
                     pools,
                     *make_request_router("round_robin", 1),
                     *make_request_router("round_robin", 1))
            .records[1];
    };
    EXPECT_EQ(second(false).first_token, 22_ms);
    EXPECT_EQ(second(false).last_token, 50_ms + 8_us);
    EXPECT_EQ(second(true).first_token, 40_ms + 8_us);
    EXPECT_EQ(second(true).last_token, 60_ms + 8_us);
}

struct Pressure {
    explicit Pressure(std::uint64_t seed) {
        CounterRandom random(seed, 0, 1);
        requests = poisson(300, 100, 1);
        for (Request& request : requests) {
            request.prompt_tokens = 1 + static_cast<std::int64_t>(random.next() % 60);
            request.output_tokens = 1 + static_cast<std::int64_t>(random.next() % 20);
            // Conversations of which prompts are beginnings.
            const std::uint64_t conversation = random.next() % 8;
            for (std::int64_t block = 0; block < request.prompt_tokens / 4; ++block) {
                request.prefix_hashes.push_back(conversation * 100 +
                                                static_cast<std::uint64_t>(block) + 1);
            }
        }
    }
    std::vector<Request> requests;
};

// Little's law, and token conservation: what steps computed is what prompts and outputs need,
// without what was found in the cache or below it. Policies that never preempt compute nothing
// twice.
TEST(ServingTransfers, TokensAreConservedUnderPressure) {
    LinearCost cost(3_ms, 1_ms);
    std::int64_t loaded_tokens = 0;
    for (const BatchingRules& rules : batching_rules()) {
        for (const TierLoading loading : {TierLoading::ahead, TierLoading::layer_wise}) {
            for (const TierWrites writes : {TierWrites::evicted, TierWrites::computed}) {
                const Pressure pressure(static_cast<std::uint64_t>(loading) + 3);
                CacheTiers tiers({{.kind = TierKind::dram, .blocks = 20},
                                  {.kind = TierKind::nvme, .blocks = 20},
                                  {.kind = TierKind::remote, .blocks = 40}},
                                 writes,
                                 loading,
                                 2);
                UnsharedTransport transport(1_us, 1_ms);
                ServingPool pool = pool_of(cost, 8, 3);
                pool.rules = rules;
                pool.limits.block_size = 4;
                pool.limits.num_blocks = 30;
                pool.layers = 4;
                const ServingResult result =
                    serve(pressure.requests,
                          {},
                          pool,
                          *make_request_router("prefix_aware", 1),
                          {},
                          {.tiers = &tiers, .hosts = {0, 0, 1}, .loads = &transport});
                __int128 sojourns = 0;
                std::int64_t needed = 0;
                std::int64_t loaded = 0;
                for (std::size_t i = 0; i < pressure.requests.size(); ++i) {
                    const RequestRecord& record = result.records[i];
                    ASSERT_TRUE(record.finished()) << rules.name;
                    sojourns += record.end_to_end().picoseconds();
                    needed += pressure.requests[i].prompt_tokens - record.cached_tokens +
                              record.output_tokens - 1;
                    loaded += record.loaded_tokens;
                }
                EXPECT_TRUE(sojourns == result.request_picoseconds);
                std::int64_t computed = 0;
                for (const InstanceTotals& totals : result.instances) {
                    computed += totals.computed_tokens;
                }
                std::int64_t found = 0;
                for (std::size_t tier = 0; tier < 3; ++tier) {
                    found += tiers.totals(tier).loaded;
                }
                // A sequence may lose its place in the step that admits it, before it loads.
                EXPECT_GE(found, transport.loaded_blocks);
                if (rules.reservation == Reservation::longest) {
                    EXPECT_EQ(found, transport.loaded_blocks);
                    EXPECT_EQ(computed, needed) << rules.name;
                    EXPECT_EQ(found * 4, loaded);
                } else {
                    EXPECT_GE(computed, needed) << rules.name;
                    EXPECT_GE(found * 4, loaded);
                }
                loaded_tokens += loaded;
            }
        }
    }
    EXPECT_GT(loaded_tokens, 5000);
}

TEST(ServingTransfers, SplitPoolsLoadAndMoveByOneTransport) {
    LinearCost cost(3_ms, 1_ms);
    const Pressure pressure(5);
    CacheTiers tiers({{.kind = TierKind::remote, .blocks = 60}},
                     TierWrites::computed,
                     TierLoading::layer_wise,
                     2);
    UnsharedTransport transport(20_us, 2_ms);
    SplitPools pools{pool_of(cost, 8, 2), pool_of(cost, 16, 3), &transport};
    pools.prompts.limits.block_size = pools.generation.limits.block_size = 4;
    pools.prompts.limits.num_blocks = pools.generation.limits.num_blocks = 60;
    const ServingFaults faults{
        .outages = {{.instance = 0, .begin = 400_ms, .noticed = 500_ms, .end = 900_ms},
                    {.instance = 3, .begin = 800_ms, .noticed = 820_ms, .end = 1900_ms}},
        .slowdowns = {}};
    const ServingResult result = serve(pressure.requests,
                                       {},
                                       pools,
                                       *make_request_router("prefix_aware", 1),
                                       *make_request_router("least_tokens", 1),
                                       faults,
                                       {.tiers = &tiers, .hosts = {0, 1}, .loads = &transport});
    std::int64_t loaded = 0;
    for (std::size_t i = 0; i < pressure.requests.size(); ++i) {
        EXPECT_EQ(result.records[i].output_tokens, pressure.requests[i].output_tokens);
        loaded += result.records[i].loaded_tokens;
    }
    EXPECT_GT(loaded, 400);
    EXPECT_GT(result.outages[0].moved_requests + result.outages[1].moved_requests, 0);
}

}  // namespace
}  // namespace orrery
