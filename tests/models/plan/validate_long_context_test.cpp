// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_long_context.h"

#include <gtest/gtest.h>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

std::string first_error(const Transformer& model, const ParallelPlan& plan) {
    const Errors errors = check_long_context(model, plan);
    return errors.empty() ? "" : errors[0].where + ": " + errors[0].what;
}

TEST(ValidateLongContext, TilesAreOfWholeDenseMlps) {
    const Transformer model = small_llama();
    EXPECT_EQ(first_error(model, {.mlp_tile_tokens = 512, .loss_tile_tokens = 512}), "");
    EXPECT_NE(first_error(model, {.tensor_model_parallel_size = 2, .mlp_tile_tokens = 512})
                  .find("weights that a rank has whole"),
              std::string::npos);
    EXPECT_NE(first_error(model, {.precision = Dtype::fp8, .loss_tile_tokens = 512}).find("fp8"),
              std::string::npos);
    EXPECT_NE(first_error(model, {.mlp_tile_tokens = 1}).find("tiles or more"), std::string::npos);
    EXPECT_NE(first_error(model, {.loss_tile_tokens = 512, .loss_metrics = 1}).find("all logits"),
              std::string::npos);
    Transformer biased = model;
    biased.add_bias_linear = true;
    EXPECT_NE(first_error(biased, {.mlp_tile_tokens = 512}).find("no biases"), std::string::npos);
    EXPECT_NE(first_error(small_experts(), {.mlp_tile_tokens = 512}).find("experts"),
              std::string::npos);
    EXPECT_NE(first_error(model,
                          {.recompute_granularity = Recompute::selective,
                           .recompute_modules = static_cast<std::uint32_t>(RecomputeModule::mlp),
                           .mlp_tile_tokens = 512})
                  .find("runs again anyway"),
              std::string::npos);
}

TEST(ValidateLongContext, OffloadIsOfWhatFullRecomputationKeeps) {
    const Transformer model = small_llama();
    EXPECT_NE(first_error(model, {.activation_offload_fraction = 1}).find("full recomputation"),
              std::string::npos);
    EXPECT_EQ(
        first_error(model,
                    {.recompute_granularity = Recompute::full, .activation_offload_fraction = 1}),
        "");
    EXPECT_NE(first_error(model, {.activation_offload_blocking = true}).find("no layer input"),
              std::string::npos);
}

TEST(ValidateLongContext, OffloadOfWholeLayersLeavesTheLastOne) {
    const Transformer model = small_llama(4);
    EXPECT_EQ(first_error(model, {.cpu_offloading_num_layers = 3}), "");
    EXPECT_NE(first_error(model, {.cpu_offloading_num_layers = 4}).find("the last of 4 layers"),
              std::string::npos);
    EXPECT_NE(
        first_error(model, {.pipeline_model_parallel_size = 2, .cpu_offloading_num_layers = 1})
            .find("several stages"),
        std::string::npos);
    EXPECT_NE(
        first_error(model,
                    {.recompute_granularity = Recompute::selective, .cpu_offloading_num_layers = 1})
            .find("computed again"),
        std::string::npos);
}

TEST(ValidateLongContext, LinearAttentionHasNoWindow) {
    Transformer model = small_llama();
    model.linear_attention_every = 1;
    EXPECT_EQ(first_error(model, {}), "");
    model.sliding_window = 128;
    EXPECT_NE(first_error(model, {}).find("no window"), std::string::npos);
}

}  // namespace
}  // namespace orrery
