// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/input_embedding.h"

#include <gtest/gtest.h>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

// BLOOM's norm of the embedding: its input is kept beside its output, which is the first layer's
// input, and its mean and deviation of each token.
TEST(InputEmbedding, ANormKeepsOneMoreActivationOfEachMicroBatchInFlight) {
    Transformer model = small_llama(4);
    model.normalization = Normalization::layernorm;
    const ParallelPlan plan{.pipeline_model_parallel_size = 2,
                            .micro_batch_size = 1,
                            .global_batch_size = 4,
                            .recompute_granularity = Recompute::full};
    const Program without = verified(model, plan);
    const std::int64_t parameters = num_parameters(model);
    model.embed_layernorm = true;
    EXPECT_EQ(num_parameters(model) - parameters, 2 * model.hidden_size);
    const Program normed = verified(model, plan);
    EXPECT_TRUE(ops_called(without, "embedding norm").empty());
    EXPECT_EQ(ops_called(normed, "embedding norm").size(), 1U);
    EXPECT_EQ(ops_called(normed, "embedding norm backward").size(), 1U);
    EXPECT_EQ(bytes_of_tensor(normed, "embedding.word_embeddings.norm"), 2 * 2 * model.hidden_size);
    const std::int64_t kept = model.seq_length * (2 * model.hidden_size + 2 * 4);
    EXPECT_EQ(activation_peak(normed) - activation_peak(without), 2 * kept);
}

// Where all stages share the table, the first one norms the sum of their parts.
TEST(InputEmbedding, SharedTablesAreNormedOnTheFirstStage) {
    Transformer model = small_llama(4);
    model.tied_embeddings = false;
    model.embed_layernorm = true;
    const Program program = verified(model,
                                     {.pipeline_model_parallel_size = 4,
                                      .micro_batch_size = 1,
                                      .global_batch_size = 8,
                                      .overlap_p2p = true,
                                      .fused_cross_entropy = false,
                                      .vocabulary_parallel = true});
    EXPECT_EQ(ops_called(program, "embedding norm").size(), 1U);
    EXPECT_EQ(ops_called(program, "embedding norm backward").size(), 1U);
    EXPECT_EQ(ops_called(program, "embedding backward").size(), 4U);
}

}  // namespace
}  // namespace orrery
