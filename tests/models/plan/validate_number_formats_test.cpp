// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_number_formats.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

std::string first_key(const ParallelPlan& plan) {
    const Errors errors = check_number_formats(plan);
    return errors.empty() ? "" : errors.front().where;
}

TEST(NumberFormats, OfADefaultPlanAreValid) {
    EXPECT_EQ(first_key({}), "");
    EXPECT_EQ(first_key({.precision = Dtype::fp8, .main_params_dtype = Dtype::bf16}), "");
}

TEST(NumberFormats, HaveRules) {
    EXPECT_EQ(first_key({.precision = Dtype::int8}), "plan.precision");
    EXPECT_EQ(first_key({.gradient_dtype = Dtype::fp8}), "plan.gradient_dtype");
    EXPECT_EQ(first_key({.main_params_dtype = Dtype::fp16}), "plan.main_params_dtype");
    EXPECT_EQ(first_key({.precision = Dtype::fp32, .main_params_dtype = Dtype::bf16}),
              "plan.main_params_dtype");
    EXPECT_EQ(first_key({.optimizer = Optimizer::lamb, .moments_dtype = Dtype::bf16}),
              "plan.moments_dtype");
    EXPECT_EQ(first_key({.precision = Dtype::fp16, .bf16_stochastic_round = true}),
              "plan.bf16_stochastic_round");
}

// ZeRO 3 reduces gradients unit by unit, in the type that the passes make.
TEST(NumberFormats, ReduceInAShorterTypeByBucketsAlone) {
    ParallelPlan plan{.grad_reduce_dtype = Dtype::bf16};
    EXPECT_EQ(plan.wire_of_gradients(), Dtype::bf16);
    EXPECT_EQ(first_key(plan), "");
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    EXPECT_EQ(first_key(plan), "plan.grad_reduce_dtype");
    // A longer type than that of the gradients changes nothing.
    plan.gradient_dtype = Dtype::bf16;
    EXPECT_EQ(first_key(plan), "");
}

TEST(NumberFormats, OnlyGradientsWithFp32SumsBesideThemAreKept) {
    ParallelPlan plan{.gradient_accumulation_fusion = false, .clear_lp_grads = false};
    EXPECT_EQ(first_key(plan), "");
    plan.gradient_dtype = Dtype::bf16;
    EXPECT_EQ(first_key(plan), "plan.clear_lp_grads");
    plan.gradient_dtype = Dtype::fp32;
    plan.precision = Dtype::fp32;
    EXPECT_EQ(first_key(plan), "plan.clear_lp_grads");
    EXPECT_EQ(first_key({.clear_lp_grads = false}), "plan.clear_lp_grads");
}

TEST(NumberFormats, KeepInputsOfFusedGatedActivationsInFp8) {
    const auto refused = [](const Transformer& model, ParallelPlan plan) {
        plan.activation_func_fp8_input_store = true;
        const Errors errors = check_fp8_inputs(model, plan);
        return errors.empty() ? std::string{} : errors.front().what;
    };
    const Transformer gated = small_llama(1);
    const Transformer plain = gpt(2, 64, 4, 32, 96);
    EXPECT_TRUE(check_fp8_inputs(plain, {}).empty());
    EXPECT_EQ(refused(gated, {}), "");
    EXPECT_EQ(refused(plain, {}), "the activation has no gate");
    EXPECT_EQ(refused(gated, {.precision = Dtype::fp32}),
              "with precision fp32 activations keep 32 bits");
    EXPECT_EQ(refused(gated, {.fused_activation = false}),
              "kernels of parts of an activation keep what autograd keeps");
    EXPECT_EQ(refused(gated, {.mlp_tile_tokens = 64}), "tiles run again and keep nothing");
    EXPECT_EQ(refused(gated, {.moe_fused_activation = true}),
              "the activation is part of its products");
    const char* const kAgain = "the product before the activation runs again and keeps nothing";
    EXPECT_EQ(refused(gated, {.recompute_granularity = Recompute::full}), kAgain);
    ParallelPlan mlp{.recompute_granularity = Recompute::selective};
    mlp.recompute_modules = static_cast<std::uint32_t>(RecomputeModule::mlp);
    EXPECT_EQ(refused(gated, mlp), kAgain);
    mlp.recompute_modules = static_cast<std::uint32_t>(RecomputeModule::activation);
    EXPECT_EQ(refused(gated, mlp), "");
}

}  // namespace
}  // namespace orrery
