// SPDX-License-Identifier: Apache-2.0
// Instances that come and go with the load.
#include <gtest/gtest.h>

#include "engine/base/counter_random.h"
#include "engine/serving/serving_run.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

// Wants what it is told, one number after the other, then the last one.
class Told : public Autoscaler {
public:
    explicit Told(std::vector<std::int64_t> numbers) : numbers_(std::move(numbers)) {}
    std::int64_t wanted(const PoolObservation& seen) const override {
        last = seen;
        return numbers_[std::min(next_++, numbers_.size() - 1)];
    }
    mutable PoolObservation last;

private:
    std::vector<std::int64_t> numbers_;
    mutable std::size_t next_ = 0;
};

// A step of 10 ms for whatever is in it; requests of 100 steps, one every 100 ms.
struct Scaled {
    explicit Scaled(std::vector<std::int64_t> numbers) : told(std::move(numbers)) {
        for (int i = 0; i < 20; ++i) {
            requests.push_back({.arrival = 100_ms * i, .prompt_tokens = 8, .output_tokens = 100});
        }
    }
    ServingResult run() {
        return serve(requests,
                     {},
                     pool,
                     *make_request_router("least_requests", 1),
                     {},
                     {.scaling = {.policy = &told,
                                  .interval = 250_ms,
                                  .scale_down_delay = delay,
                                  .pools = {{.min_instances = 1, .start_up = 300_ms}}}});
    }
    LinearCost cost{10_ms, Time{}};
    ServingPool pool = pool_of(cost, 1024, 3);
    Told told;
    Time delay;
    std::vector<Request> requests;
};

TEST(ServingScaling, AnInstanceStartsUpBeforeItServes) {
    Scaled of({2});
    const ServingResult result = of.run();
    // Decided at 250 ms, serving from 550 ms on.
    ASSERT_EQ(result.instance_counts.size(), 3U);
    EXPECT_EQ(result.instance_counts[0].serving, 1);
    EXPECT_EQ(result.instance_counts[2].at, 550_ms);
    EXPECT_EQ(result.instance_counts[2].serving, 2);
    EXPECT_EQ(result.instance_times[0], result.end);
    EXPECT_EQ(result.instance_times[1], result.end - 250_ms);
    EXPECT_EQ(result.instance_times[2], Time{});
    EXPECT_GT(result.instances[1].batches, 0);
    EXPECT_EQ(result.instances[2].batches, 0);
    EXPECT_EQ(of.told.last.instances, 2);
}

TEST(ServingScaling, WhatIsNotWantedServesToItsEnd) {
    Scaled of({3, 3, 3, 1});
    const ServingResult result = of.run();
    // At 1000 ms two of three get no new requests; each has requests of up to 1 s.
    for (const RequestRecord& record : result.records) {
        EXPECT_EQ(record.output_tokens, 100);
        EXPECT_EQ(record.moves, 0);
    }
    for (const std::size_t drained : {1, 2}) {
        EXPECT_GT(result.instance_times[drained], 750_ms);
        EXPECT_LT(result.instance_times[drained], 1750_ms);
    }
    EXPECT_EQ(result.instance_counts.back().serving, 1);
}

TEST(ServingScaling, FewerGoOnOnlyAfterTheDelay) {
    Scaled of({3, 1});
    of.delay = 600_ms;
    const ServingResult result = of.run();
    // Three were wanted at 250 ms, which counts until 850 ms: two are let go at 1000 ms.
    const auto fewer = std::ranges::find_if(result.instance_counts, [](const auto& count) {
        return count.at > 600_ms && count.serving == 1;
    });
    ASSERT_NE(fewer, result.instance_counts.end());
    EXPECT_EQ(fewer->at, 1000_ms);
}

TEST(ServingScaling, AnInstanceThatDrainsGoesOnIfItIsWantedAgain) {
    Scaled of({2, 2, 2, 1, 2});
    const ServingResult result = of.run();
    // At 1250 ms it serves again at once: it has not served to its end.
    EXPECT_EQ(result.instance_counts.back().at, 1250_ms);
    EXPECT_EQ(result.instance_counts.back().serving, 2);
    EXPECT_EQ(result.instance_times[1], result.end - 250_ms);
}

// Tokens and Little's law, whatever the policy: nothing is lost by coming and going.
TEST(ServingScaling, ConservationHoldsForEveryPolicyAndPool) {
    LinearCost cost(3_ms, 1_ms);
    CounterRandom random(6, 0, 1);
    for (const std::string_view name : {"rate", "queue", "cache", "objectives"}) {
        for (const bool split : {false, true}) {
            std::vector<Request> requests = poisson(400, 60, 1);
            for (Request& request : requests) {
                request.prompt_tokens = 1 + static_cast<std::int64_t>(random.next() % 60);
                request.output_tokens = 1 + static_cast<std::int64_t>(random.next() % 60);
            }
            const auto policy = make_autoscaler(name, name == "rate" ? 20 : 0.9);
            UnsharedTransport transport(20_us);
            SplitPools pools{pool_of(cost, 8, 4), pool_of(cost, 8, 4), &transport};
            pools.prompts.limits.block_size = pools.generation.limits.block_size = 4;
            pools.prompts.limits.num_blocks = pools.generation.limits.num_blocks = 120;
            const PoolScaling scaling{.min_instances = 1, .start_up = 200_ms};
            const ServingParts parts{.scaling = {.policy = policy.get(),
                                                 .interval = 100_ms,
                                                 .scale_down_delay = 300_ms,
                                                 .pools = {scaling, scaling},
                                                 .first_token = 100_ms,
                                                 .output_token = 20_ms}};
            ServingParts one = parts;
            one.scaling.pools.resize(1);
            const auto router = make_request_router("least_tokens", 1);
            const ServingResult result =
                split ? serve(requests, {}, pools, *router, *router, {}, parts)
                      : serve(requests, {}, pools.prompts, *router, {}, one);
            __int128 sojourns = 0;
            for (std::size_t i = 0; i < requests.size(); ++i) {
                ASSERT_EQ(result.records[i].output_tokens, requests[i].output_tokens) << name;
                sojourns += result.records[i].end_to_end().picoseconds();
            }
            EXPECT_TRUE(sojourns == result.request_picoseconds);
            EXPECT_GT(result.instance_counts.size(), split ? 4U : 2U) << name;
            for (const auto& count : result.instance_counts) {
                EXPECT_LE(count.serving, 4);
                EXPECT_GE(count.serving, 1) << name;
            }
            for (std::size_t i = 0; i < result.instances.size(); ++i) {
                EXPECT_LE(result.instances[i].busy, result.instance_times[i]);
                EXPECT_LE(result.instance_times[i], result.end);
            }
        }
    }
}

}  // namespace
}  // namespace orrery
