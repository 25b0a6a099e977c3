// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/served_instance.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

using namespace literals;

class TwoStages : public StepCost {
public:
    std::size_t num_stages() const override { return 2; }
    void times(const Batch&, std::vector<Time>& stages) override { stages = {2_ms, 3_ms}; }
};

struct Instance {
    TwoStages cost;
    std::vector<Request> requests{{.prompt_tokens = 5, .output_tokens = 3},
                                  {.prompt_tokens = 4, .output_tokens = 2}};
    ServingPool pool{.rules = *find_batching_rules("vllm_v1"),
                     .limits = {.max_num_batched_tokens = 5, .block_size = 4, .num_blocks = 10},
                     .cost = &cost};
    ServedInstance served{pool, 0, requests};
    ServedInstance::Chosen chosen;
    std::vector<Sampled> sampled;
};

TEST(ServedInstance, StagesHaveABatchEach) {
    Instance instance;
    instance.served.scheduler().submit(RequestId{0});
    instance.served.scheduler().submit(RequestId{1});
    const auto first = instance.served.begin(Time{}, instance.chosen);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->first_stage_free, 2_ms);
    EXPECT_EQ(first->end, 5_ms);
    EXPECT_FALSE(instance.served.begin(1_ms, instance.chosen));  // the first stage computes
    const auto second = instance.served.begin(2_ms, instance.chosen);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->end, 8_ms);
    EXPECT_TRUE(instance.served.ends(5_ms));
    instance.served.complete(instance.sampled);
    ASSERT_EQ(instance.sampled.size(), 1U);
    EXPECT_EQ(instance.sampled[0].request, RequestId{0});
    EXPECT_EQ(instance.served.totals().busy, 4_ms);
    EXPECT_EQ(instance.served.totals().computed_tokens, 9);
}

TEST(ServedInstance, WhatStopsLosesItsStepsAndItsCache) {
    Instance instance;
    instance.served.scheduler().submit(RequestId{0});
    instance.served.scheduler().submit(RequestId{1});
    ASSERT_TRUE(instance.served.begin(Time{}, instance.chosen));
    EXPECT_LT(instance.served.scheduler().pool().num_free(), 10);
    instance.served.stop();
    EXPECT_TRUE(instance.served.is_down());
    EXPECT_FALSE(instance.served.ends(5_ms));
    EXPECT_FALSE(instance.served.begin(5_ms, instance.chosen));
    EXPECT_EQ(instance.served.leave(), (std::vector<RequestId>{RequestId{0}, RequestId{1}}));
    EXPECT_EQ(instance.served.scheduler().pool().num_free(), 10);
    instance.served.restart(50_ms);
    EXPECT_EQ(instance.served.failures(), 1U);
    instance.served.scheduler().submit(RequestId{1});
    EXPECT_EQ(instance.served.begin(50_ms, instance.chosen)->end, 55_ms);
}

TEST(ServedInstance, ASlowOneTakesLongerFromItsNextStepOn) {
    Instance instance;
    instance.served.slow_down(1.5);
    instance.served.scheduler().submit(RequestId{0});
    EXPECT_EQ(instance.served.begin(Time{}, instance.chosen)->end,
              Time::picoseconds(7'500'000'000));
}

class Drowsy : public TwoStages {
public:
    Time after_idling(std::int64_t steps) const override { return steps < 2 ? 10_ms : Time{}; }
};

// An instance of two stages that waits for its own last stage does not idle.
TEST(ServedInstance, TheFirstStepsAfterAnIdleTimeTakeLonger) {
    Drowsy cost;
    const std::vector<Request> requests{{.prompt_tokens = 5, .output_tokens = 5}};
    const ServingPool pool{.rules = *find_batching_rules("vllm_v1"),
                           .limits = {.block_size = 4, .num_blocks = 10},
                           .cost = &cost};
    ServedInstance served{pool, 0, requests};
    ServedInstance::Chosen chosen;
    std::vector<Sampled> sampled;
    served.scheduler().submit(RequestId{0});
    const auto step = [&](Time now) {
        const Time end = served.begin(now, chosen)->end;
        served.complete(sampled);
        return end - now;
    };
    EXPECT_EQ(step(1_ms), 15_ms);
    EXPECT_EQ(step(16_ms), 15_ms);
    EXPECT_EQ(step(31_ms), 5_ms);
    EXPECT_EQ(step(37_ms), 15_ms);
    EXPECT_EQ(served.totals().busy, 38_ms);
}

class Compiler : public TwoStages {
public:
    CompiledKernels compiled_at_start(const SchedulerLimits& limits,
                                      std::int64_t prompt) const override {
        return {{limits.max_num_batched_tokens}, {prompt}};
    }
    Time compiling(const Batch& batch, CompiledKernels& compiled) const override {
        return compiled.insert({batch.steps.front().new_tokens}).second ? 7_ms : Time{};
    }
};

// The first request's kernels are there. A restarted instance compiles the others again.
TEST(ServedInstance, CompilesInEachStageOnce) {
    Compiler cost;
    const std::vector<Request> requests{{.prompt_tokens = 5, .output_tokens = 3},
                                        {.prompt_tokens = 6, .output_tokens = 3}};
    const ServingPool pool{.rules = *find_batching_rules("vllm_v1"),
                           .limits = {.block_size = 4, .num_blocks = 10},
                           .cost = &cost};
    ServedInstance served{pool, 0, requests};
    ServedInstance::Chosen chosen;
    std::vector<Sampled> sampled;
    const auto step = [&](Time now) {
        const Time end = served.begin(now, chosen)->end;
        served.complete(sampled);
        return end - now;
    };
    served.scheduler().submit(RequestId{0});
    EXPECT_EQ(step(Time{}), 5_ms);
    EXPECT_EQ(step(5_ms), 19_ms);  // one token: a new kernel, in both stages
    EXPECT_EQ(step(24_ms), 5_ms);
    served.stop();
    served.leave();
    served.restart(50_ms);
    served.scheduler().submit(RequestId{1});
    EXPECT_EQ(step(50_ms), 19_ms);
    EXPECT_EQ(step(69_ms), 19_ms);
}

}  // namespace
}  // namespace orrery
