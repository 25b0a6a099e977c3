// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/step_estimates.h"

#include <gtest/gtest.h>

#include "engine/serving/request_router.h"
#include "engine/serving/serving_run.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

// A millisecond a token, and one a thousand tokens of context.
class TokenCost : public StepCost {
public:
    void times(const Batch& batch, std::vector<Time>& stages) override {
        stages[0] = Time{};
        for (const SequenceStep& step : batch.steps) {
            stages[0] += 1_ms * step.new_tokens + 1_us * step.context;
        }
    }
};

struct Estimated {
    Estimated() {
        for (int i = 0; i < 2; ++i) {
            instances.push_back(std::make_unique<BatchScheduler>(
                *find_batching_rules("vllm_v1"), limits, requests));
            seen.push_back(instances.back().get());
        }
        instances[0]->use({.tiers = &tiers, .host = 0});
        instances[1]->use({.tiers = &tiers, .host = 1});
    }
    TokenCost cost;
    SchedulerLimits limits{.max_num_batched_tokens = 128, .block_size = 64, .num_blocks = 100};
    std::vector<Request> requests{{.prompt_tokens = 256},
                                  {.prompt_tokens = 192, .prefix_hashes = {7, 8, 9}}};
    CacheTiers tiers{{{.kind = TierKind::dram, .blocks = 8}},
                     TierWrites::computed,
                     TierLoading::layer_wise,
                     2};
    StepEstimates estimates{cost, limits, 4, 1_ms};
    std::vector<std::unique_ptr<BatchScheduler>> instances;
    std::vector<const BatchScheduler*> seen;
};

TEST(StepEstimates, AFirstTokenWaitsForTheQueueTheLoadAndThePrompt) {
    Estimated of;
    // In chunks of 128: 128, then 64 behind 128.
    EXPECT_EQ(of.estimates.prompt({.tokens = 192, .context = 0}), 192_ms + 128_us);
    EXPECT_EQ(of.estimates.first_token(of.requests[1], *of.instances[0]), 192_ms + 128_us);
    of.instances[0]->submit(RequestId{0});
    EXPECT_EQ(of.estimates.queued(*of.instances[0]), 256_ms + 128_us);
    // Half of a chunk is under way, and the other one waits.
    const Batch batch = of.instances[0]->next();
    EXPECT_EQ(of.estimates.queued(*of.instances[0]), 64_ms + 128_ms + 128_us);
    // Two blocks of 64 tokens come from the server's memory: 128 ms, in four layers behind 64 ms.
    of.tiers.put(1, 7);
    of.tiers.put(1, 8);
    EXPECT_EQ(of.estimates.first_token(of.requests[1], *of.instances[1]),
              128_ms + 16_ms + 32_us);
}

TEST(StepEstimates, ARouterTakesTheEarliestFirstToken) {
    Estimated of;
    const auto router = make_request_router("first_token", 1);
    router->use(of.estimates);
    EXPECT_EQ(router->choose(of.requests[1], of.seen), 0U);
    of.tiers.put(1, 7);
    of.tiers.put(1, 8);
    EXPECT_EQ(router->choose(of.requests[1], of.seen), 1U);  // 144 ms instead of 192
    of.instances[1]->submit(RequestId{0});
    EXPECT_EQ(router->choose(of.requests[1], of.seen), 0U);
}

TEST(StepEstimates, GeneratingSequencesShareAStep) {
    Estimated of;
    EXPECT_EQ(of.estimates.generation({}), Time{});
    EXPECT_EQ(of.estimates.generation({.sequences = 3, .context = 3000}), 3_ms + 3_us * 1000);
}

// Mooncake's operations of a prompt of Llama 3 70B's layer (Qin et al., FAST 2025): n tokens take
// 4 n^2 d + 22 n d^2.
class PromptCost : public StepCost {
public:
    explicit PromptCost(double per_second) : per_second_(per_second) {}
    void times(const Batch& batch, std::vector<Time>& stages) override {
        const auto seconds = [&](std::int64_t tokens) {
            const auto n = static_cast<double>(tokens);
            return kLayers * n * kWidth * (4 * n + 22 * kWidth) / per_second_;
        };
        stages[0] = Time{};
        for (const SequenceStep& step : batch.steps) {
            stages[0] +=
                Time::seconds(seconds(step.context + step.new_tokens) - seconds(step.context));
        }
    }
    static constexpr double kWidth = 8192;
    static constexpr std::int64_t kLayers = 80;

private:
    double per_second_;
};

// A prefix of 8,192 tokens, of 327,680 bytes each, takes as long to load as to compute at 5.859
// GB/s on eight A800, and at 18.58 GB/s on eight GPUs of 989.5 TFLOP/s.
TEST(StepEstimates, LoadingAPrefixBreaksEvenWithComputingIt) {
    constexpr std::int64_t kPrefix = 8192;
    constexpr std::int64_t kRest = 64;
    constexpr double kTokenBytes = 327'680;
    for (const auto& [rate, bandwidth] :
         {std::pair{8 * 312e12, 5.859e9}, {8 * 989.5e12, 18.58e9}}) {
        PromptCost cost{rate};
        const SchedulerLimits limits{
            .max_num_batched_tokens = 1 << 20, .block_size = kPrefix, .num_blocks = 4};
        const std::vector<Request> requests{
            {.prompt_tokens = kPrefix + kRest, .prefix_hashes = {7}}};
        CacheTiers tiers{{{.kind = TierKind::dram, .blocks = 1}},
                         TierWrites::computed,
                         TierLoading::layer_wise,
                         1};
        BatchScheduler instance{*find_batching_rules("vllm_v1"), limits, requests};
        instance.use({.tiers = &tiers, .host = 0});
        StepEstimates estimates{
            cost, limits, PromptCost::kLayers, Time::seconds(kTokenBytes / bandwidth)};
        const Time computed = estimates.first_token(requests[0], instance);
        tiers.put(0, 7);
        const Time loaded = estimates.first_token(requests[0], instance);
        // The rest is computed behind the prefix, all but its last layer while that is loaded.
        const Time rest = estimates.prompt({.tokens = kRest, .context = kPrefix});
        const Time hidden = rest - Time::picoseconds(rest.picoseconds() / PromptCost::kLayers);
        EXPECT_NEAR((loaded + hidden) / computed, 1, 5e-4);
    }
}

}  // namespace
}  // namespace orrery
