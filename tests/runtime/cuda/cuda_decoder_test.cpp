// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_decoder.h"

#include <gtest/gtest.h>

#include "tests/runtime/cuda/served_steps.h"
#include "tests/runtime/cuda/simulated_device.h"

namespace orrery {
namespace {

TEST(CudaDecoder, ReplaysStepsOfSingleTokensWithTheBitsOfLaunches) {
    simulated::begin_device(4);
    const ServedModel served = served_model(models()[1]);
    const auto with = decoder_of(served, fp32_options());
    CudaDecoderOptions options = fp32_options();
    options.graphs = false;
    const auto without = decoder_of(served, options);
    for (const Step& step : steps()) {
        EXPECT_EQ(logits_of(*with, step), logits_of(*without, step));
    }
    // Three steps of three rows, padded to four: the first launches, the others replay one graph.
    EXPECT_EQ(with->captured(), 1u);
    EXPECT_EQ(without->captured(), 0u);
    EXPECT_EQ(simulated::counts().graph_launches, 2);
}

TEST(CudaDecoder, RefusesAStepBeyondItsLimitsAndGoesOn) {
    simulated::begin_device(4);
    const ServedModel served = served_model(models()[0]);
    const auto decoder = decoder_of(served, fp32_options());
    std::vector<float> logits;
    const Step wide(7, DecodeChunk{.tokens = {1}, .blocks = {2}, .samples = true});
    const auto many = decoder->run(wide, logits);
    ASSERT_FALSE(many);
    EXPECT_EQ(many.error().what, "a step of 7 tokens of 7 sequences, where 16 and 6 are the most");
    EXPECT_FALSE(decoder->run(
        Step{{.tokens = std::vector<std::int32_t>(17, 1), .blocks = {1, 2, 3, 4, 5}}}, logits));
    EXPECT_EQ(logits_of(*decoder, {wide.front()}).size(), 32u);
    EXPECT_TRUE(logits_of(*decoder, {}).empty());
}

TEST(CudaDecoder, SaysWhatTheDeviceLacks) {
    simulated::begin_device(4);
    Transformer experts = models()[1];
    experts.num_experts = 4;
    experts.moe_ffn_hidden_size = 24;
    const auto sparse =
        CudaDecoder::create({.model = experts, .weights = {}}, kCache, fp32_options());
    ASSERT_FALSE(sparse);
    EXPECT_EQ(sparse.error().what, "models with experts are served on CPUs alone");

    simulated::limit_memory(std::int64_t{33} << 20);  // the workspace of products, and a little
    CudaDecoderOptions options = fp32_options();
    options.step_tokens = 1 << 15;
    const auto large = CudaDecoder::create(served_model(models()[0]), kCache, options);
    ASSERT_FALSE(large);
    EXPECT_NE(large.error().what.find("the activations of a step needs"), std::string::npos)
        << large.error().what;
    EXPECT_NE(large.error().hint.find("max_num_batched_tokens"), std::string::npos)
        << large.error().hint;
}

TEST(CudaDecoder, GivesUpADeviceThatDoesNotEndAStep) {
    simulated::begin_device(4);
    const ServedModel served = served_model(models()[0]);
    CudaDecoderOptions options = fp32_options();
    options.deadline = std::chrono::milliseconds{50};
    const auto decoder = decoder_of(served, options);
    simulated::hang();
    std::vector<float> logits;
    const auto done = decoder->run(Step{{.tokens = {1}, .blocks = {2}, .samples = true}}, logits);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().what.find("did not end a step within"), std::string::npos);
}

}  // namespace
}  // namespace orrery
