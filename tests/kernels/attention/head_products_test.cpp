// SPDX-License-Identifier: Apache-2.0
// What the products compute is tested where they are run: unfused_attention_cpu_test.cpp.
#include "kernels/attention/head_products.h"

#include <set>

#include "tests/kernels/numeric.h"

namespace orrery {
namespace {

std::size_t batches_of(AttentionShape s) {
    numeric::Tensor q{s.seq_q * s.batch * s.heads * s.head_dim, Dtype::fp32};
    numeric::Tensor kv{2 * s.seq_kv * s.batch * s.kv_heads * s.head_dim, Dtype::fp32};
    numeric::Tensor scores{s.seq_q * s.batch * s.heads * s.seq_kv, Dtype::fp32};
    const HeadProduct product =
        attention_scores(s,
                         cpu::ConstTokenColumns{q.view(), s.heads * s.head_dim, 0},
                         cpu::block_key(s, ConstTensorView(kv.view())),
                         scores.view());
    const auto batches = head_batches(product);
    std::set<const std::byte*> matrices;
    for (const HeadBatch& batch : batches) {
        for (std::int64_t i = 0; i < batch.count; ++i) {
            matrices.insert(batch.result.data + 4 * i * batch.step_result);
        }
    }
    // Every head of every sequence has scores of its own.
    EXPECT_EQ(static_cast<std::int64_t>(matrices.size()), s.batch * s.heads);
    return batches.size();
}

TEST(HeadProducts, AreBatchesOverTheHeadsOfASequenceOrOverTheLargerOfGroupsAndTheirMembers) {
    const AttentionShape own{
        .batch = 2, .seq_q = 3, .seq_kv = 3, .heads = 6, .kv_heads = 6, .head_dim = 2};
    EXPECT_EQ(batches_of(own), 2u);
    AttentionShape grouped = own;
    grouped.kv_heads = 3;
    EXPECT_EQ(batches_of(grouped), 2u * 2);
    grouped.kv_heads = 1;
    EXPECT_EQ(batches_of(grouped), 2u);
}

// The first query head of a group puts down the gradient of its keys, the others add to it.
TEST(HeadProducts, GradientsOfKeysAddUpHeadByHead) {
    const AttentionShape s{.seq_q = 3, .seq_kv = 3, .heads = 6, .kv_heads = 2, .head_dim = 2};
    numeric::Tensor q{s.seq_q * s.heads * s.head_dim, Dtype::fp32};
    numeric::Tensor dkv{2 * s.seq_kv * s.kv_heads * s.head_dim, Dtype::fp32};
    numeric::Tensor dscores{s.seq_q * s.heads * s.seq_kv, Dtype::fp32};
    const auto batches = head_batches(attention_key_gradient(
        s, dscores.view(), cpu::ConstTokenColumns{q.view(), 12, 0}, cpu::block_key(s, dkv.view())));
    ASSERT_EQ(batches.size(), 3u);
    EXPECT_FALSE(batches[0].accumulate);
    EXPECT_TRUE(batches[1].accumulate && batches[2].accumulate);
    EXPECT_EQ(batches[0].count, 2);
    EXPECT_EQ(batches[1].result.data, batches[0].result.data);
}

}  // namespace
}  // namespace orrery
