// SPDX-License-Identifier: Apache-2.0
#include "models/serving/step_launches.h"

#include <gtest/gtest.h>

#include "tests/models/known_models.h"

namespace orrery {
namespace step_launches_test {

Transformer llama3_70b() {
    return llama(80, 8192, 28672, 8, 128256);
}

TEST(StepLaunches, AnEagerEngineLaunchesEachKernel) {
    const StepLaunches launches = step_launches(llama3_70b(), {.tensor_model_parallel_size = 8}, 0);
    // Two norms, attention with its inputs, cache and output, the MLP, and two sums a layer.
    EXPECT_EQ(launches.all, 80 * 12 + 5);
    EXPECT_EQ(launches.of_mixed, 0);
}

TEST(StepLaunches, GraphsInPiecesLeaveAttentionToTheHost) {
    const ServingPlan plan{.tensor_model_parallel_size = 8};
    EXPECT_EQ(step_launches(llama3_70b(), plan, 0).of_pieces, 80 * 2 + 81);
    const ServingPlan fused{.tensor_model_parallel_size = 8, .fused_cache_write = true};
    EXPECT_EQ(step_launches(llama3_70b(), fused, 0).of_pieces, 80 + 81);
}

// Prompts beside sequences that generate get their keys and values from latent vectors, copy the
// keys, and attend.
TEST(StepLaunches, LatentAttentionHasOtherKernelsForPrompts) {
    Transformer model = llama(1, 7168, 18432, 128, 129280);
    model.multi_latent_attention = true;
    model.num_attention_heads = 128;
    model.q_lora_rank = 1536;
    const ServingPlan fused{.key_value_precision = Dtype::fp8, .fused_cache_write = true};
    EXPECT_EQ(step_launches(model, fused, 0).of_mixed, 3);
}

}  // namespace step_launches_test
}  // namespace orrery
