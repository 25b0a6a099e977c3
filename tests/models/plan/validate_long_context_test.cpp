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
    EXPECT_NE(first_error(model, {.loss_tile_tokens = 512, .kept_logits = 2}).find("no logits"),
              std::string::npos);
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

TEST(ValidateLongContext, TensorRanksShareWhatFullRecomputationKeeps) {
    const Transformer model = small_llama();
    const ParallelPlan shared{.tensor_model_parallel_size = 2,
                              .recompute_granularity = Recompute::full,
                              .distribute_saved_activations = true};
    EXPECT_EQ(first_error(model, shared), "");
    ParallelPlan plan = shared;
    plan.tensor_model_parallel_size = 1;
    EXPECT_NE(first_error(model, plan).find("no others"), std::string::npos);
    plan = shared;
    plan.recompute_granularity = Recompute::selective;
    EXPECT_NE(first_error(model, plan).find("full recomputation"), std::string::npos);
    plan = shared;
    plan.sequence_parallel = true;
    EXPECT_NE(first_error(model, plan).find("has split"), std::string::npos);
    plan = {.recompute_granularity = Recompute::full,
            .reentrant_checkpoint = true,
            .checkpoint_early_stop = true};
    EXPECT_NE(first_error(model, plan).find("to its end"), std::string::npos);
    Transformer odd = model;
    odd.seq_length = 4095;
    EXPECT_NE(first_error(odd, shared).find("equal parts"), std::string::npos);
}

// Offsets of 32 bits reach 2^31 elements: 524,288 tokens of Llama 3 8B's width, with which Liger's
// norms worked, and failed with 555,000 (Liger-Kernel, issue 803).
TEST(ValidateLongContext, NormsReachAsFarAsTheirOffsets) {
    Transformer model = small_llama();
    model.hidden_size = 4096;
    model.seq_length = 524'288;
    ParallelPlan plan{.norm_32_bit_offsets = true};
    EXPECT_EQ(tokens_of_32_bit_offsets(model, plan), 524'288);
    EXPECT_EQ(first_error(model, plan), "");
    model.seq_length = 555'000;
    EXPECT_NE(first_error(model, plan).find("more than the 524288"), std::string::npos);
    plan.context_parallel_size = 2;
    EXPECT_EQ(first_error(model, plan), "");
    plan.micro_batch_size = 2;
    EXPECT_NE(first_error(model, plan).find("555000 tokens"), std::string::npos);
    model.seq_length = 250'000;
    model.qk_layernorm = true;  // rows of a token's heads are wider than the stream
    model.num_attention_heads = 128;
    EXPECT_EQ(tokens_of_32_bit_offsets(model, plan), 262'144);
}

TEST(ValidateLongContext, AttentionBuffersAreOfOneCallOfFlashAttention2) {
    const Transformer model = small_llama();
    EXPECT_EQ(first_error(model, {.attention_backward_buffers = true}), "");
    EXPECT_NE(
        first_error(
            model, {.attention_kernel = AttentionKernel::cudnn, .attention_backward_buffers = true})
            .find("FlashAttention 2"),
        std::string::npos);
    EXPECT_NE(first_error(model, {.context_parallel_size = 2, .attention_backward_buffers = true})
                  .find("several calls"),
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
