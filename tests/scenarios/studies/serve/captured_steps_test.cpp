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

Capture captured(const ServingEngine& engine, const Batch& batch, const ServingPlan& plan = {}) {
    return capture_of(engine, plan, batch, shape_of(batch));
}

Batch captured_prompt(std::int64_t tokens) {
    Batch batch;
    batch.steps.push_back({.new_tokens = tokens, .context = 0, .samples = true});
    return batch;
}

TEST(CapturedSteps, GenerateUpToTheLongestContext) {
    EXPECT_EQ(captured(kEngine, captured_generation(9)), Capture::whole);
    EXPECT_EQ(captured(kEngine, captured_prompt(9)), Capture::nothing);
    EXPECT_EQ(captured({}, captured_generation(9)), Capture::nothing);
    ServingEngine engine = kEngine;
    engine.max_seq_len_to_capture = 100;
    EXPECT_EQ(captured(engine, captured_generation(1, 99)), Capture::whole);
    EXPECT_EQ(captured(engine, captured_generation(1, 100)), Capture::nothing);
}

TEST(CapturedSteps, GenerateForSomeSequencesOfEachRank) {
    ServingEngine engine = kEngine;
    engine.max_captured_sequences = 4;
    EXPECT_EQ(captured(engine, captured_generation(4)), Capture::whole);
    EXPECT_EQ(captured(engine, captured_generation(5)), Capture::nothing);
    EXPECT_EQ(captured(engine, captured_generation(8), {.data_parallel_size = 2}), Capture::whole);
    engine.piecewise_capture_tokens = 5;
    EXPECT_EQ(captured(engine, captured_generation(5)), Capture::pieces);
}

TEST(CapturedSteps, AreInPiecesUpToANumberOfTokens) {
    ServingEngine engine{.piecewise_capture_tokens = 8};
    EXPECT_EQ(captured(engine, captured_prompt(8)), Capture::pieces);
    EXPECT_EQ(captured(engine, captured_prompt(9)), Capture::nothing);
    EXPECT_EQ(captured(engine, captured_generation(8)), Capture::pieces);
    EXPECT_EQ(captured(engine, captured_generation(9)), Capture::nothing);
    // Of each rank.
    EXPECT_EQ(captured(engine, captured_generation(9), {.data_parallel_size = 2}), Capture::pieces);
    engine.captures_generation = true;
    EXPECT_EQ(captured(engine, captured_generation(8)), Capture::whole);
    EXPECT_EQ(captured(engine, captured_prompt(8)), Capture::pieces);
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
