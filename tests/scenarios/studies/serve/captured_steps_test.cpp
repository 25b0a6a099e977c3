// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/captured_steps.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

Batch captured_generation(std::int64_t sequences, std::int64_t context = 100) {
    Batch batch;
    for (std::int64_t i = 0; i < sequences; ++i) {
        batch.steps.push_back({.new_tokens = 1, .context = context, .samples = true});
    }
    return batch;
}

const ServingEngine kEngine{.captures_generation = true, .captured_batch_multiple = 8};

std::int64_t filled(std::int64_t sequences, const ServingPlan& plan = {}) {
    const BatchShape shape = filled_graph(kEngine, plan, shape_of(captured_generation(sequences)));
    EXPECT_EQ(shape.tokens, shape.generating);
    EXPECT_EQ(shape.sampled, shape.generating);
    return shape.generating;
}

TEST(CapturedSteps, GenerateUpToTheLongestContext) {
    EXPECT_TRUE(is_captured(kEngine, captured_generation(9), true));
    EXPECT_FALSE(is_captured(kEngine, captured_generation(9), false));
    EXPECT_FALSE(is_captured({}, captured_generation(9), true));
    ServingEngine engine = kEngine;
    engine.max_seq_len_to_capture = 100;
    EXPECT_TRUE(is_captured(engine, captured_generation(1, 99), true));
    EXPECT_FALSE(is_captured(engine, captured_generation(1, 100), true));
}

TEST(CapturedSteps, AreFilledUpToTheNextGraph) {
    EXPECT_EQ(filled(1), 1);
    EXPECT_EQ(filled(3), 4);
    EXPECT_EQ(filled(5), 8);
    EXPECT_EQ(filled(8), 8);
    EXPECT_EQ(filled(17), 24);
    // Of each rank: nine sequences on the busier one.
    EXPECT_EQ(filled(17, {.data_parallel_size = 2}), 32);
    const BatchShape five = shape_of(captured_generation(5));
    EXPECT_EQ(filled_graph({.captures_generation = true}, {}, five), five);
}

TEST(CapturedSteps, FillUpWithProposalsAsWell) {
    Batch batch = captured_generation(3);
    for (SequenceStep& step : batch.steps) {
        step.new_tokens = 4;
        step.drafted = 3;
    }
    const BatchShape shape = filled_graph(kEngine, {}, shape_of(batch));
    EXPECT_EQ(shape.generating, 4);
    EXPECT_EQ(shape.drafted, 12);
    EXPECT_EQ(shape.tokens, 16);
}

}  // namespace
}  // namespace orrery
