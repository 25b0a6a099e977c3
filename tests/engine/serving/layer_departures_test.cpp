// SPDX-License-Identifier: Apache-2.0
// Keys and values that leave for another pool while their prompt is computed.
#include <gtest/gtest.h>

#include "engine/serving/serving_run.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

// 80 layers of a prompt take 80 ms, and another instance needs 10 ms for a token.
struct Departing {
    explicit Departing(Time of_token) : transport(of_token) {
        prompts.layers = 80;
        prompts.limits.max_num_batched_tokens = 4;
    }
    ServingResult run(std::int64_t layer_wise_tokens) {
        return serve(requests,
                     {},
                     {.prompts = prompts,
                      .generation = generation,
                      .transport = &transport,
                      .layer_wise_tokens = layer_wise_tokens},
                     *make_request_router("round_robin", 1),
                     *make_request_router("round_robin", 1));
    }
    std::vector<Request> requests{{.prompt_tokens = 4, .output_tokens = 3}};
    LinearCost of_prompts{80_ms, Time{}};
    LinearCost of_tokens{10_ms, Time{}};
    ServingPool prompts = pool_of(of_prompts);
    ServingPool generation = pool_of(of_tokens);
    UnsharedTransport transport;
};

// Of 80 layers of computation 1, transfers of 0.25 leave 0.25 exposed, and transfers of 1.5 leave
// 41. After the prompt they take 20 and 120.
TEST(LayerDepartures, TransfersHideBehindTheComputationOfOtherLayers) {
    for (const auto& [of_token, exposed, whole] :
         {std::tuple{5_ms, 250_us, 20_ms}, {30_ms, 41_ms, 120_ms}}) {
        Departing layer_wise(of_token);
        const ServingResult result = layer_wise.run(4);
        EXPECT_EQ(result.records[0].first_token, 80_ms);
        EXPECT_EQ(result.records[0].cache_move, exposed);
        EXPECT_EQ(result.records[0].last_token, 80_ms + exposed + 20_ms);
        Departing after_prompt(of_token);
        EXPECT_EQ(after_prompt.run(0).records[0].cache_move, whole);
        Departing too_short(of_token);
        EXPECT_EQ(too_short.run(5).records[0].cache_move, whole);
    }
}

// Three steps compute a prompt of 12 tokens. The transfer of a step's layers ends in the next step.
TEST(LayerDepartures, EarlierChunksAreThereBeforeTheLastOne) {
    Departing split(10_ms);
    split.requests[0].prompt_tokens = 12;
    const ServingResult result = split.run(1);
    EXPECT_EQ(result.records[0].first_token, 240_ms);
    EXPECT_EQ(result.records[0].cache_move, 500_us);
    Departing slow(30_ms);
    slow.requests[0].prompt_tokens = 12;
    // 12 tokens of 30 ms from the end of the first layer on.
    EXPECT_EQ(slow.run(1).records[0].cache_move, 1_ms + 360_ms - 240_ms);
}

// Blocks for one prompt only: the second request's layers wait until the first request has ended,
// and then move as a whole.
TEST(LayerDepartures, LayersWaitForBlocksWhereTheyGo) {
    Departing split(5_ms);
    split.generation.limits.block_size = 8;
    split.generation.limits.num_blocks = 1;
    split.requests.push_back(split.requests[0]);
    const ServingResult result = split.run(1);
    EXPECT_EQ(result.records[0].last_token, 80_ms + 250_us + 20_ms);
    EXPECT_EQ(result.records[1].first_token, 160_ms);
    EXPECT_EQ(result.records[1].cache_wait, Time{});
    EXPECT_EQ(result.records[1].cache_move, 250_us);
    Departing busy(5_ms);
    busy.generation.limits.block_size = 32;
    busy.generation.limits.num_blocks = 1;
    busy.requests[0].output_tokens = 16;
    busy.requests.push_back(busy.requests[0]);
    const ServingResult later = busy.run(1);
    const Time first_ends = 80_ms + 250_us + 150_ms;
    EXPECT_EQ(later.records[0].last_token, first_ends);
    EXPECT_EQ(later.records[1].cache_wait, first_ends - 160_ms);
    EXPECT_EQ(later.records[1].cache_move, 20_ms);
}

// A request of one output token stays where its prompt is, and Little's law holds.
TEST(LayerDepartures, RequestsAreConserved) {
    Departing split(3_ms);
    split.requests = poisson(200, 10, 4);
    for (std::size_t i = 0; i < split.requests.size(); ++i) {
        split.requests[i].prompt_tokens = 1 + static_cast<std::int64_t>(i % 13);
        split.requests[i].output_tokens = 1 + static_cast<std::int64_t>(i % 4);
    }
    const ServingResult result = split.run(3);
    __int128 sum = 0;
    for (std::size_t i = 0; i < split.requests.size(); ++i) {
        EXPECT_EQ(result.records[i].output_tokens, split.requests[i].output_tokens);
        sum += result.records[i].end_to_end().picoseconds();
    }
    EXPECT_TRUE(sum == result.request_picoseconds);
}

// A prompt is computed in chunks by the stages of several servers: while one stage computes a
// chunk, the stage before it computes the next one (Mooncake's chunked pipeline parallelism). Four
// chunks and two stages take five times of a stage.
TEST(LayerDepartures, StagesComputeChunksOfOnePromptTogether) {
    struct Stages : StepCost {
        std::size_t num_stages() const override { return 2; }
        void times(const Batch&, std::vector<Time>& stages) override { stages = {40_ms, 40_ms}; }
    } cost;
    Departing split(5_ms);
    split.prompts.cost = &cost;
    split.requests[0].prompt_tokens = 16;
    EXPECT_EQ(split.run(1).records[0].first_token, 200_ms);
}

}  // namespace
}  // namespace orrery
