// SPDX-License-Identifier: Apache-2.0
#include "models/serving/cached_attention.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/models/known_models.h"

namespace orrery {
namespace {

const AttentionShape kHeads{.heads = 32, .kv_heads = 8, .head_dim = 128};

// A cache of 8 bits halves its own bytes, and not those of queries and outputs.
TEST(CachedAttention, ReadsTheCacheInItsPrecision) {
    const Transformer model = llama(32, 4096, 14336, 8, 128256);
    AttentionShape shape = kHeads;
    shape.batch = 4;
    shape.seq_q = 1;
    shape.seq_kv = 1000;
    const ServingPlan full;
    ServingPlan half;
    half.key_value_precision = Dtype::fp8;
    EXPECT_EQ(
        cached_attention(model, full, shape).bytes - cached_attention(model, half, shape).bytes,
        4 * 8 * 1000 * 2 * 128);
    EXPECT_EQ(cached_attention(model, full, shape).bytes,
              attention_forward(shape, Dtype::bf16).bytes);
}

TEST(CachedAttention, PromptsOfAStepAddUp) {
    const Transformer model = llama(32, 4096, 14336, 8, 128256);
    const std::vector<PromptChunk> chunks{{.new_tokens = 100, .context = 900}, {.new_tokens = 30}};
    const KernelCall both = prompt_attention(model, {}, kHeads, chunks);
    const KernelCall first = prompt_attention(model, {}, kHeads, std::span(chunks).first(1));
    const KernelCall second = prompt_attention(model, {}, kHeads, std::span(chunks).last(1));
    EXPECT_DOUBLE_EQ(both.flop, first.flop + second.flop);
    EXPECT_EQ(both.bytes, first.bytes + second.bytes);
    EXPECT_EQ(attention_shape(both).batch, 2);
    EXPECT_EQ(attention_shape(both).seq_q, 65);
    EXPECT_EQ(attention_shape(both).seq_kv, 515);
}

// A token that is generated takes 64 rows of a tile, as many proposals as rows take theirs.
TEST(CachedAttention, AJointKernelComputesTilesOfRows) {
    const Transformer model = llama(32, 4096, 14336, 8, 128256);
    const std::vector<PromptChunk> chunks{{.new_tokens = 100, .context = 900}};
    const KernelCall prompts = prompt_attention(model, {}, kHeads, chunks);
    AttentionShape shape = kHeads;
    shape.batch = 10;
    shape.seq_q = 1;
    shape.seq_kv = 1000;
    const KernelCall one = cached_attention(model, {}, shape);
    EXPECT_DOUBLE_EQ(joint_attention(prompts, one).flop, prompts.flop + 64 * one.flop);
    EXPECT_EQ(joint_attention(prompts, one).bytes, prompts.bytes + one.bytes);
    EXPECT_EQ(attention_shape(joint_attention(prompts, one)).seq_q, 100);
    shape.seq_q = 101;
    const KernelCall many = cached_attention(model, {}, shape);
    EXPECT_DOUBLE_EQ(joint_attention(prompts, many).flop, prompts.flop + many.flop);
}

}  // namespace
}  // namespace orrery
