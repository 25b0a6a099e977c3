// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/paged_decoder.h"

#include <gtest/gtest.h>

#include "runtime/generate.h"
#include "runtime/state/held_parameters.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

Transformer small(Transformer model) {
    model.seq_length = 40;
    return model;
}

std::vector<Transformer> models() {
    Transformer grouped = small(tiny_llama());
    grouped.sliding_window = 7;
    grouped.sliding_window_every = 2;
    Transformer parallel = small(tiny_gpt());
    parallel.parallel_block = true;
    parallel.activation = Activation::squared_relu;
    Transformer experts = small(tiny_llama());
    experts.num_experts = 4;
    experts.moe_ffn_hidden_size = 24;
    experts.first_k_dense_replace = 1;
    Transformer biased = small(tiny_llama());
    biased.add_qkv_bias = true;
    return {small(tiny_gpt()), small(tiny_llama()), grouped, parallel, experts, biased};
}

// Weights that are far from zero, with the executor of a training Program that has the same.
struct Both {
    std::unique_ptr<Program> program;
    std::unique_ptr<CpuExecutor> plain;
    ServedModel served;
};

Both both(const Transformer& model) {
    const ParallelPlan plan{
        .micro_batch_size = 1, .global_batch_size = 1, .precision = Dtype::fp32};
    Both b;
    b.program = std::make_unique<Program>(lower(model, plan.launched_from_cpp()));
    b.plain = *CpuExecutor::create(*b.program, RankId{0});
    initialise_weights(*b.plain,
                       {.seed = 5, .num_layers = model.num_layers, .standard_deviation = 0.3});
    b.served.model = model;
    for (const HeldParameter& p : held_parameters(*b.plain)) {
        std::vector<float>& values = b.served.weights[p.name];
        for (std::int64_t i = 0; p.name.ends_with(".bias") && i < p.weight.size; ++i) {
            store(p.weight, i, 0.2f * static_cast<float>(i % 5 - 2));  // they begin as zeros
        }
        values.resize(static_cast<std::size_t>(p.weight.size));
        load_row(p.weight, 0, values);
    }
    return b;
}

std::vector<float> logits_of(PagedDecoder& decoder, const std::vector<DecodeChunk>& chunks) {
    std::vector<float> logits;
    const Result<void> done = decoder.run(chunks, logits);
    EXPECT_TRUE(done) << done.error().to_string();
    return logits;
}

// Token by token behind a prompt, with blocks that are not in order.
std::vector<std::int32_t> decoded(const ServedModel& served,
                                  std::vector<std::int32_t> tokens,
                                  std::int64_t count) {
    PagedDecoder decoder{served, {.num_blocks = 12, .block_size = 4}};
    const std::vector<KvBlock> blocks{7, 3, 4, 12, 1, 9, 2, 8, 11, 10};
    std::vector<std::int32_t> out;
    std::int64_t context = 0;
    while (static_cast<std::int64_t>(out.size()) < count) {
        const auto logits = logits_of(decoder,
                                      {{.tokens = {tokens.begin() + context, tokens.end()},
                                        .context = context,
                                        .blocks = blocks,
                                        .samples = true}});
        context = static_cast<std::int64_t>(tokens.size());
        out.push_back(draw_token(logits, {.temperature = 0}, 0));
        tokens.push_back(out.back());
    }
    return out;
}

TEST(PagedDecoder, GreedyTokensAreThoseOfAPlainForwardPass) {
    for (const Transformer& model : models()) {
        Both b = both(model);
        const auto plain =
            generate_tokens(*b.plain, model, {5, 7, 11, 2, 9}, 30, {.temperature = 0});
        ASSERT_TRUE(plain) << plain.error().to_string();
        EXPECT_EQ(decoded(b.served, {5, 7, 11, 2, 9}, 30), *plain);
    }
}

// The logits of a step, bit by bit, whether the prompt comes whole, in chunks, or beside others.
TEST(PagedDecoder, BitsDoNotDependOnTheBatch) {
    for (const Transformer& model : models()) {
        const ServedModel served = both(model).served;
        const std::vector<std::int32_t> tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        const auto part = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
            return std::vector<std::int32_t>{tokens.begin() + from, tokens.begin() + to};
        };
        const CacheShape cache{.num_blocks = 20, .block_size = 4};
        PagedDecoder one{served, cache};
        const auto whole =
            logits_of(one, {{.tokens = tokens, .blocks = {1, 2, 3}, .samples = true}});
        PagedDecoder other{served, cache};
        logits_of(other, {{.tokens = part(0, 3), .blocks = {9, 4, 6}}});
        logits_of(other,
                  {{.tokens = {30, 31, 3}, .blocks = {5}},
                   {.tokens = part(3, 10), .context = 3, .blocks = {9, 4, 6}}});
        const auto chunked = logits_of(
            other,
            {{.tokens = {4}, .context = 3, .blocks = {5}, .samples = true},
             {.tokens = part(10, 11), .context = 10, .blocks = {9, 4, 6}, .samples = true}});
        ASSERT_EQ(chunked.size(), 2 * whole.size());
        EXPECT_TRUE(std::equal(whole.begin(), whole.end(), chunked.begin() + std::ssize(whole)));
    }
}

TEST(PagedDecoder, StagesGiveTheBitsOfOneRank) {
    for (const Transformer& model : models()) {
        const ServedModel served = both(model).served;
        const CacheShape cache{.num_blocks = 4, .block_size = 4};
        const std::vector<DecodeChunk> chunks{
            {.tokens = {3, 1, 4, 1, 5}, .blocks = {2, 1}, .samples = true}};
        PagedDecoder one{served, cache};
        const auto whole = logits_of(one, chunks);
        PagedDecoder first{served, cache, {.num_layers = 1, .samples = false}};
        PagedDecoder second{served, cache, {.first_layer = 1, .num_layers = 1, .embeds = false}};
        std::vector<float> stream;
        std::vector<float> logits;
        ASSERT_TRUE(first.run_stage(chunks, stream, logits));
        EXPECT_TRUE(logits.empty());
        ASSERT_TRUE(second.run_stage(chunks, stream, logits));
        EXPECT_EQ(logits, whole);
    }
}

}  // namespace
}  // namespace orrery
