// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery {
namespace {

// Counts pair by pair.
std::int64_t slow_pairs(const AttentionShape& shape) {
    std::int64_t pairs = 0;
    for (std::int64_t q = 0; q < shape.seq_q; ++q) {
        const std::int64_t last_key = shape.seq_kv - shape.seq_q + q;
        for (std::int64_t k = 0; k < shape.seq_kv; ++k) {
            const bool hidden =
                shape.causal &&
                (k > last_key || (shape.window > 0 && k <= last_key - shape.window));
            pairs += hidden ? 0 : 1;
        }
    }
    return pairs;
}

TEST(VisiblePairs, EqualACountPairByPair) {
    std::mt19937 generator(7);
    const auto random = [&] { return static_cast<std::int64_t>(generator()); };
    for (int i = 0; i < 400; ++i) {
        AttentionShape shape{.seq_q = 1 + random() % 40, .heads = 1, .kv_heads = 1, .head_dim = 64};
        shape.seq_kv = shape.seq_q + random() % 20;
        shape.causal = random() % 4 != 0;
        shape.window = shape.causal && random() % 2 ? 1 + random() % 50 : 0;
        EXPECT_EQ(visible_pairs(shape), slow_pairs(shape))
            << shape.seq_q << " " << shape.seq_kv << " window " << shape.window << " causal "
            << shape.causal;
    }
}

TEST(Attention, CountsFourFlopAPairAndHeadElementForward) {
    const AttentionShape full{.batch = 2,
                              .seq_q = 128,
                              .seq_kv = 128,
                              .heads = 8,
                              .kv_heads = 8,
                              .head_dim = 64,
                              .causal = false};
    EXPECT_DOUBLE_EQ(attention_forward(full, Dtype::bf16).flop, 4.0 * 64 * 128 * 128 * 8 * 2);
    EXPECT_DOUBLE_EQ(attention_backward(full, Dtype::bf16).flop,
                     2.5 * attention_forward(full, Dtype::bf16).flop);
    AttentionShape causal = full;
    causal.causal = true;
    EXPECT_DOUBLE_EQ(attention_forward(causal, Dtype::bf16).flop,
                     4.0 * 64 * (128 * 129 / 2) * 8 * 2);
}

TEST(Attention, ReadsQKVAndWritesOOnce) {
    const AttentionShape shape{.batch = 1,
                               .seq_q = 256,
                               .seq_kv = 512,
                               .heads = 8,
                               .kv_heads = 2,
                               .head_dim = 128,
                               .causal = false};
    EXPECT_EQ(attention_forward(shape, Dtype::bf16).bytes,
              2 * (2 * 256 * 8 * 128 + 2 * 512 * 2 * 128) + 4 * 256 * 8);
    EXPECT_EQ(attention_backward(shape, Dtype::bf16).bytes,
              2 * (4 * 256 * 8 * 128 + 4 * 512 * 2 * 128) + 8 * 256 * 8);
}

TEST(Attention, KeyHoldsTheWholeShape) {
    const AttentionShape shape{.batch = 3,
                               .seq_q = 4096,
                               .seq_kv = 8192,
                               .heads = 32,
                               .kv_heads = 8,
                               .head_dim = 192,
                               .causal = true,
                               .window = 1024,
                               .generation = AttentionGeneration::flash_3_or_cudnn};
    EXPECT_EQ(attention_shape(attention_forward(shape, Dtype::bf16)), shape);
    EXPECT_EQ(attention_shape(attention_backward(shape, Dtype::bf16)), shape);
}

}  // namespace
}  // namespace orrery
