// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_experts.h"

#include <gtest/gtest.h>

#include "models/plan/validate_plan.h"
#include "tests/models/expert_models.h"

namespace orrery {
namespace {

std::string first_error(const Transformer& model, const ParallelPlan& plan, std::int64_t gpus) {
    const Errors errors = check(model, plan, gpus);
    return errors.empty() ? "" : errors[0].where + ": " + errors[0].what;
}

const ParallelPlan kPlan{.global_batch_size = 16};

TEST(ValidateExperts, AcceptsFoldedAndPlainPlans) {
    ParallelPlan plan = kPlan;
    EXPECT_EQ(first_error(small_experts(), plan, 8), "");
    plan.expert_model_parallel_size = 8;
    EXPECT_EQ(first_error(small_experts(), plan, 16), "");
    plan.tensor_model_parallel_size = 2;
    plan.sequence_parallel = true;
    plan.expert_tensor_parallel_size = 1;
    EXPECT_EQ(first_error(small_experts(), plan, 16), "");
    plan.expert_tensor_parallel_size = 2;
    EXPECT_EQ(first_error(small_experts(), plan, 16), "");
}

TEST(ValidateExperts, ExplainsSizesThatDoNotFactor) {
    ParallelPlan plan = kPlan;
    plan.expert_model_parallel_size = 3;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.expert_model_parallel_size: 3 does not divide num_experts 8");
    plan.expert_model_parallel_size = 8;
    EXPECT_EQ(first_error(small_experts(), plan, 4),
              "plan.expert_model_parallel_size: expert tensor 1 x expert 8 does not divide the 4 "
              "ranks of a stage");
    Transformer model = small_experts();
    model.num_experts = 9;
    plan = kPlan;
    plan.global_batch_size = 6;
    plan.tensor_model_parallel_size = 2;
    plan.sequence_parallel = true;
    plan.expert_tensor_parallel_size = 1;
    plan.expert_model_parallel_size = 3;
    EXPECT_EQ(first_error(model, plan, 12),
              "plan.expert_model_parallel_size: experts take 3 consecutive ranks together and "
              "other layers 2: neither divides the other");
}

TEST(ValidateExperts, FilledExpertsHaveACapacityAndEqualRows) {
    ParallelPlan plan = kPlan;
    plan.moe_pad_expert_input_to_capacity = true;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.moe_pad_expert_input_to_capacity: experts have no capacity");
    plan.moe_expert_capacity_factor = 1;
    EXPECT_EQ(first_error(small_experts(), plan, 8), "");
    plan.moe_router_load = RouterLoad::uniform;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.moe_pad_expert_input_to_capacity: full experts take equal rows of an "
              "all-to-all");
    plan.moe_router_load = RouterLoad::balanced;
    plan.moe_token_dispatcher_type = TokenDispatcher::deepep;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.moe_pad_expert_input_to_capacity: full experts take equal rows of an "
              "all-to-all");
}

TEST(ValidateExperts, TensorParallelExpertsNeedSequenceParallelism) {
    ParallelPlan plan = kPlan;
    plan.tensor_model_parallel_size = 2;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.sequence_parallel: tensor-parallel ranks would route the same tokens twice");
}

TEST(ValidateExperts, RefusesKeysThatAModelWithoutExpertsHasNoUseFor) {
    ParallelPlan plan = kPlan;
    plan.expert_model_parallel_size = 2;
    EXPECT_EQ(first_error(llama3_8b(), plan, 8),
              "plan.expert_model_parallel_size: the model has no experts");
    plan = kPlan;
    plan.moe_router_load = RouterLoad::zipf;
    EXPECT_EQ(first_error(llama3_8b(), plan, 8), "plan.moe_router_load: the model has no experts");
}

TEST(ValidateExperts, RefusesModelsThatCannotBe) {
    Transformer model = small_experts();
    model.moe_router_topk = 9;
    EXPECT_EQ(first_error(model, kPlan, 8), "model.moe_router_topk: 9 of 8 experts");
    model = small_experts();
    model.first_k_dense_replace = 2;
    EXPECT_NE(first_error(model, kPlan, 8).find("leave none"), std::string::npos);
    model = small_experts();
    model.multi_latent_attention = true;
    model.num_query_groups = model.num_attention_heads;
    EXPECT_EQ(first_error(model, kPlan, 8), "");
    ParallelPlan plan = kPlan;
    plan.context_parallel_size = 2;
    EXPECT_NE(first_error(model, plan, 8).find("latent attention"), std::string::npos);
}

TEST(ValidateExperts, GraphsOfPartsFollowOneAnother) {
    const Transformer model = small_experts();
    ParallelPlan plan = kPlan;
    plan.cuda_graph_scope = static_cast<std::uint32_t>(CudaGraphPart::moe_preprocess);
    EXPECT_EQ(first_error(model, plan, 8),
              "plan.cuda_graph_scope: moe_preprocess follows the router in one graph");
    plan.cuda_graph_scope |= static_cast<std::uint32_t>(CudaGraphPart::moe_router);
    EXPECT_EQ(first_error(model, plan, 8), "");
    plan.cuda_graphs = true;
    EXPECT_EQ(first_error(model, plan, 8),
              "plan.cuda_graph_scope: cuda_graphs captures everything");
    plan.cuda_graphs = false;
    Transformer dense = model;
    dense.num_experts = 0;
    EXPECT_EQ(first_error(dense, plan, 8), "plan.cuda_graph_scope: the model has no experts");
}

TEST(ValidateExperts, OperatorsOfPyTorchMoveRowsBesideNcclsExchange) {
    ParallelPlan plan = kPlan;
    plan.moe_permute_fusion = false;
    EXPECT_EQ(first_error(small_experts(), plan, 8), "");
    const char* const refused =
        "plan.moe_permute_fusion: operators of PyTorch move all rows at once, beside an exchange "
        "by NCCL";
    plan.moe_fused_kernels = true;
    EXPECT_EQ(first_error(small_experts(), plan, 8), refused);
    plan.moe_fused_kernels = false;
    plan.moe_token_dispatcher_type = TokenDispatcher::hybridep;
    EXPECT_EQ(first_error(small_experts(), plan, 8), refused);
    plan.moe_token_dispatcher_type = TokenDispatcher::allgather;
    EXPECT_EQ(first_error(small_experts(), plan, 8), "");
}

TEST(ValidateExperts, ProductsOfExpertsFuseOnlyWhatOthersFuse) {
    ParallelPlan plan = kPlan;
    plan.moe_gradient_accumulation_fusion = false;
    EXPECT_EQ(first_error(small_experts(), plan, 8), "");
    plan.gradient_accumulation_fusion = false;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.moe_gradient_accumulation_fusion: without gradient_accumulation_fusion no "
              "product adds to gradients");
    Transformer dense = small_experts();
    dense.num_experts = 0;
    plan.gradient_accumulation_fusion = true;
    EXPECT_EQ(first_error(dense, plan, 8),
              "plan.moe_gradient_accumulation_fusion: the model has no experts");
}

TEST(ValidateExperts, OnlyBiasesAreFusedWithProducts) {
    ParallelPlan plan = kPlan;
    plan.moe_fused_bias = true;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.moe_fused_bias: the experts have no biases");
    Transformer biased = small_experts();
    biased.add_bias_linear = true;
    EXPECT_EQ(first_error(biased, plan, 8), "");
    plan.moe_fused_kernels = true;
    EXPECT_EQ(first_error(biased, plan, 8),
              "plan.moe_fused_bias: moe_fused_kernels is one product with its bias");
}

TEST(ValidateExperts, AnActivationIsPartOfProductsInMxfp8) {
    ParallelPlan plan = kPlan;
    plan.moe_fused_activation = true;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.moe_fused_activation: the products of experts are not in MXFP8");
    plan.precision = Dtype::fp8;
    plan.fp8_recipe = Fp8Recipe::mxfp8;
    EXPECT_EQ(first_error(small_experts(), plan, 8), "");
    ParallelPlan again = plan;
    again.recompute_granularity = Recompute::selective;
    again.recompute_modules = static_cast<std::uint32_t>(RecomputeModule::moe_act);
    EXPECT_EQ(first_error(small_experts(), again, 8),
              "plan.moe_fused_activation: an activation inside a product is not recomputed alone");
    plan.moe_fused_kernels = true;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.moe_fused_activation: moe_fused_kernels has kernels of its own");
    Transformer ungated = small_experts();
    ungated.activation = Activation::gelu;
    plan.moe_fused_kernels = false;
    EXPECT_EQ(first_error(ungated, plan, 8),
              "plan.moe_fused_activation: the activation has no gate");
}

TEST(ValidateExperts, ARouterIsFusedInOneWay) {
    ParallelPlan plan = kPlan;
    plan.moe_router_fusion = true;
    EXPECT_EQ(first_error(small_experts(), plan, 8), "");
    plan.moe_fused_kernels = true;
    EXPECT_EQ(first_error(small_experts(), plan, 8),
              "plan.moe_router_fusion: moe_fused_kernels is a router of its own");
    EXPECT_FALSE(plan.launched_from_cpp().moe_router_fusion);
}

}  // namespace
}  // namespace orrery
