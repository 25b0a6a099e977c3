// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/serve/paged_decoder.h"
#include "tests/runtime/cuda/simulated_device.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

constexpr CacheShape kCache{.num_blocks = 24, .block_size = 4};

std::vector<Transformer> models() {
    Transformer gpt = tiny_gpt();
    gpt.seq_length = 40;
    Transformer llama = tiny_llama();
    llama.seq_length = 40;
    Transformer windows = llama;
    windows.sliding_window = 7;
    windows.sliding_window_every = 2;
    Transformer parallel = gpt;
    parallel.parallel_block = true;
    parallel.activation = Activation::squared_relu;
    return {gpt, llama, windows, parallel};
}

// Weights that are far from zero.
ServedModel served_model(const Transformer& model) {
    ServedModel served = *load_served_model(model, {}, 3);
    for (auto& [name, values] : served.weights) {
        for (std::size_t i = 0; name.find("norm") == std::string::npos && i < values.size(); ++i) {
            values[i] = 0.4f * std::sin(static_cast<float>(i * i % 1009 + name.size()));
        }
    }
    return served;
}

CudaDecoderOptions fp32_options() {
    return {.dtype = Dtype::fp32, .step_tokens = 16, .step_sequences = 6};
}

std::unique_ptr<CudaDecoder> decoder_of(const ServedModel& served,
                                        const CudaDecoderOptions& options) {
    auto made = CudaDecoder::create(served, kCache, options);
    EXPECT_TRUE(made) << made.error().to_string();
    return made ? std::move(*made) : nullptr;
}

using Step = std::vector<DecodeChunk>;

// Prompts whole and in chunks, beside sequences that generate, in steps of changing size.
std::vector<Step> steps() {
    std::vector<Step> all{
        {{.tokens = {5, 7, 11, 2, 9}, .blocks = {3, 9}, .samples = true},
         {.tokens = {1}, .blocks = {4}, .samples = true},
         {.tokens = {8, 6, 4}, .blocks = {7, 5}}},
        {{.tokens = {3}, .context = 5, .blocks = {3, 9}, .samples = true},
         {.tokens = {2, 2, 31, 17}, .context = 3, .blocks = {7, 5}, .samples = true},
         {.tokens = {20}, .context = 1, .blocks = {4}, .samples = true}}};
    for (std::int32_t i = 0; i < 3; ++i) {
        all.push_back(
            {{.tokens = {i}, .context = 6 + i, .blocks = {3, 9, 1}, .samples = true},
             {.tokens = {30 - i}, .context = 7 + i, .blocks = {7, 5, 12, 2}, .samples = true},
             {.tokens = {i + 3}, .context = 2 + i, .blocks = {4, 22}, .samples = true}});
    }
    return all;
}

std::vector<float> logits_of(DecodeStep& decoder, const Step& step) {
    std::vector<float> logits;
    const Result<void> done = decoder.run(step, logits);
    EXPECT_TRUE(done) << done.error().to_string();
    return logits;
}

double relative_error(const std::vector<float>& actual, const std::vector<float>& expected) {
    EXPECT_EQ(actual.size(), expected.size());
    double square = 0;
    double norm = 0;
    for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
        const double a = static_cast<double>(actual[i]);
        const double e = static_cast<double>(expected[i]);
        square += (a - e) * (a - e);
        norm += e * e;
    }
    return std::sqrt(square / norm);
}

TEST(CudaDecoder, GivesTheLogitsOfTheCpu) {
    for (const Transformer& model : models()) {
        simulated::begin_device(4);
        const ServedModel served = served_model(model);
        PagedDecoder cpu{served, kCache};
        const auto fp32 = decoder_of(served, fp32_options());
        CudaDecoderOptions narrow = fp32_options();
        narrow.dtype = Dtype::bf16;
        const auto bf16 = decoder_of(served, narrow);
        for (const Step& step : steps()) {
            const std::vector<float> expected = logits_of(cpu, step);
            EXPECT_LT(relative_error(logits_of(*fp32, step), expected), 1e-5);
            EXPECT_LT(relative_error(logits_of(*bf16, step), expected), 0.03);
        }
    }
}

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
