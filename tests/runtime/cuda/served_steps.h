// SPDX-License-Identifier: Apache-2.0
// Small models with adapters, and steps of a server, for tests of the GPU's decoder.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/cuda/cuda_decoder.h"
#include "runtime/serve/served_adapters.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {

inline constexpr CacheShape kCache{.num_blocks = 24, .block_size = 4};

inline std::vector<Transformer> models() {
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
inline ServedModel served_model(const Transformer& model) {
    ServedModel served = *load_served_model(model, {}, 3);
    draw_adapters(served, 2, 3, 5);
    for (auto& [name, values] : served.weights) {
        for (std::size_t i = 0; name.find("norm") == std::string::npos && i < values.size(); ++i) {
            values[i] = 0.4f * std::sin(static_cast<float>(i * i % 1009 + name.size()));
        }
    }
    return served;
}

inline CudaDecoderOptions fp32_options() {
    return {.dtype = Dtype::fp32, .step_tokens = 16, .step_sequences = 6};
}

inline std::unique_ptr<CudaDecoder> decoder_of(const ServedModel& served,
                                               const CudaDecoderOptions& options) {
    auto made = CudaDecoder::create(served, kCache, options);
    EXPECT_TRUE(made) << made.error().to_string();
    return made ? std::move(*made) : nullptr;
}

using Step = std::vector<DecodeChunk>;

// Prompts whole and in chunks, beside sequences that generate, in steps of changing size.
inline std::vector<Step> steps() {
    std::vector<Step> all{
        {{.tokens = {5, 7, 11, 2, 9}, .blocks = {3, 9}, .samples = true},
         {.tokens = {1}, .blocks = {4}, .samples = true, .adapter = 1},
         {.tokens = {8, 6, 4}, .blocks = {7, 5}}},
        {{.tokens = {3}, .context = 5, .blocks = {3, 9}, .samples = true},
         {.tokens = {2, 2, 31, 17}, .context = 3, .blocks = {7, 5}, .samples = true},
         {.tokens = {20}, .context = 1, .blocks = {4}, .samples = true, .adapter = 1}}};
    for (std::int32_t i = 0; i < 3; ++i) {
        all.push_back(
            {{.tokens = {i}, .context = 6 + i, .blocks = {3, 9, 1}, .samples = true},
             {.tokens = {30 - i}, .context = 7 + i, .blocks = {7, 5, 12, 2}, .samples = true},
             {.tokens = {i + 3}, .context = 2 + i, .blocks = {4, 22}, .samples = true}});
    }
    return all;
}

inline std::vector<float> logits_of(DecodeStep& decoder, const Step& step) {
    std::vector<float> logits;
    const Result<void> done = decoder.run(step, logits);
    EXPECT_TRUE(done) << done.error().to_string();
    return logits;
}

}  // namespace orrery
