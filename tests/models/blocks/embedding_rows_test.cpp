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

}  // namespace
}  // namespace orrery
