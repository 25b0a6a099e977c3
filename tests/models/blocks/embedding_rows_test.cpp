// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/embedding_rows.h"

#include <gtest/gtest.h>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

// A rank that has the whole table looks its tokens up; ranks that have parts add their rows.
TEST(EmbeddingRows, PartsAreAdded) {
    const Transformer model = small_llama(2);
    const Program whole = verified(model, {});
    EXPECT_EQ(ops_called(whole, "embedding").size(), 1U);
    EXPECT_EQ(ops_called(whole, "embedding backward").size(), 1U);
    EXPECT_TRUE(ops_called(whole, "embedding reduce").empty());
    const Program parts = verified(model, {.tensor_model_parallel_size = 2});
    EXPECT_EQ(ops_called(parts, "embedding reduce").size(), 1U);
    EXPECT_TRUE(ops_called(parts, "embedding gradient gather").empty());
}

// With sequence parallelism the sum is scattered over the tokens, and the gradient is gathered.
TEST(EmbeddingRows, GradientsAreGatheredWhereTokensAreSplit) {
    const Program program =
        verified(small_llama(2), {.tensor_model_parallel_size = 2, .sequence_parallel = true});
    EXPECT_EQ(ops_called(program, "embedding gradient gather").size(), 1U);
}

// PyTorch's embedding_dense_backward: zeros of the table, the rows, and a sum in fp32, also where
// products add to gradients themselves.
TEST(EmbeddingRows, ADenseGradientIsMadeAndAdded) {
    const Transformer model = small_llama(2);
    ParallelPlan plan{.tensor_model_parallel_size = 2};
    const Program rows = verified(model, plan);
    EXPECT_TRUE(ops_called(rows, "embedding backward zero").empty());
    EXPECT_TRUE(ops_called(rows, "embedding backward accumulate").empty());
    plan.dense_embedding_gradient = true;
    const Program dense = verified(model, plan);
    const std::int64_t elements = model.vocab_size / 2 * model.hidden_size;
    EXPECT_EQ(bytes_of_tensor(dense, "embedding backward"), 2 * elements);
    const auto zeros = ops_called(dense, "embedding backward zero");
    ASSERT_EQ(zeros.size(), 1U);
    EXPECT_EQ(dense.kernel(*zeros[0]).bytes, 2 * elements);
    const auto sums = ops_called(dense, "embedding backward accumulate");
    ASSERT_EQ(sums.size(), 1U);
    EXPECT_EQ(dense.kernel(*sums[0]).bytes, (2 + 4 + 4) * elements);
    plan.autocast = true;
    EXPECT_EQ(bytes_of_tensor(verified(model, plan), "embedding backward"), 4 * elements);
}

// fully_shard reduces what a pass made: nothing is added.
TEST(EmbeddingRows, ADenseGradientIsHandedOverToItsUnit) {
    const ParallelPlan plan{.data_parallel_size = 2,
                            .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                            .global_batch_size = 2,
                            .gradient_accumulation_fusion = false,
                            .dense_embedding_gradient = true,
                            .gradient_bucket_copies = true,
                            .fsdp_copy_out = true};
    const Program program = verified(small_llama(2), plan);
    EXPECT_EQ(ops_called(program, "embedding backward zero").size(), 1U);
    EXPECT_TRUE(ops_called(program, "embedding backward accumulate").empty());
}

}  // namespace
}  // namespace orrery
