// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/recipe.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const Catalogue& with_recipes() {
    static const Catalogue catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
    return catalogue;
}

PublishedCase row_of(const std::string& stack, const std::string& gpu, Dtype precision) {
    PublishedCase row;
    row.stack = stack;
    row.gpu = gpu;
    row.model.name = "deepseek-v3";
    row.plan.precision = precision;
    row.assumed = {"recompute_granularity", "overlap_moe_expert_parallel_comm", "token_dispatcher"};
    return row;
}

ParallelPlan with_recipe(const PublishedCase& row) {
    ParallelPlan plan = row.plan;
    const Result<void> set = set_recipe(row, with_recipes(), plan);
    EXPECT_TRUE(set) << set.error().to_string();
    return plan;
}

TEST(Recipe, ReleasesHaveTheRecipesOfTheReleaseBeforeTheirPatches) {
    EXPECT_EQ(recipe_entry("mb26.06.02", with_recipes()), "mb26.06");
    EXPECT_EQ(recipe_entry("mb26.02", with_recipes()), "mb26.02");
    EXPECT_EQ(recipe_entry("mb26.02.01", with_recipes()), "mb26.02.01");  // one of its own
    EXPECT_EQ(recipe_entry("mb25.07", with_recipes()), "");
    EXPECT_EQ(recipe_entry("megatron-core", with_recipes()), "");
}

TEST(Recipe, AYearAloneIsItsNewestRelease) {
    EXPECT_EQ(recipe_entry("mb25", with_recipes()), "mb25.11");
    EXPECT_EQ(recipe_entry("megatron-bridge-2026", with_recipes()), "megatron-bridge-2026.08");
    EXPECT_EQ(recipe_entry("megatron-bridge-2026.04", with_recipes()), "");  // before the first one
    EXPECT_EQ(recipe_entry("mb", with_recipes()), "");
    EXPECT_EQ(recipe_entry("", with_recipes()), "");
}

TEST(Recipe, SaysWhatARowLeavesOpen) {
    const ParallelPlan plan = with_recipe(row_of("mb26.02.01", "gb200", Dtype::fp8));
    EXPECT_EQ(plan.recompute_granularity, Recompute::selective);
    EXPECT_EQ(plan.recompute_modules, static_cast<std::uint32_t>(RecomputeModule::mla_up_proj));
    EXPECT_FALSE(plan.cuda_graphs);
    EXPECT_TRUE(plan.captures(CudaGraphPart::attn));
    EXPECT_TRUE(plan.captures(CudaGraphPart::moe_router));
    EXPECT_FALSE(plan.captures(CudaGraphPart::mlp));
    EXPECT_EQ(plan.moe_token_dispatcher_type, TokenDispatcher::hybridep);
    EXPECT_EQ(plan.moe_dispatcher_sms, 32);
    EXPECT_TRUE(plan.moe_router_fusion);
    EXPECT_FALSE(plan.overlap_moe_expert_parallel_comm);
    EXPECT_EQ(plan.moments_dtype, Dtype::bf16);
    EXPECT_FALSE(plan.delay_wgrad_compute);
    // The next release but one overlaps the exchange, by the switch that delays gradients of
    // weights.
    const ParallelPlan overlaps = with_recipe(row_of("mb26.08", "gb200", Dtype::fp8));
    EXPECT_TRUE(overlaps.overlap_moe_expert_parallel_comm);
    EXPECT_TRUE(overlaps.delay_wgrad_compute);
}

TEST(Recipe, NeverReplacesWhatARowStates) {
    PublishedCase row = row_of("mb26.08", "gb200", Dtype::fp8);
    row.assumed.clear();
    const ParallelPlan plan = with_recipe(row);
    EXPECT_EQ(plan.recompute_granularity, Recompute::none);
    EXPECT_FALSE(plan.overlap_moe_expert_parallel_comm);
    EXPECT_EQ(plan.moe_token_dispatcher_type, TokenDispatcher::alltoall);
    EXPECT_TRUE(plan.cuda_graphs);  // no table has a column for it
}

// NeMo of spring 2025 recomputes other parts on other GPUs.
TEST(Recipe, OfNemoSaysWhatIsRecomputed) {
    const auto modules = [](const char* gpu) {
        const ParallelPlan plan = with_recipe(row_of("nemo-25.04", gpu, Dtype::bf16));
        EXPECT_TRUE(plan.moe_shared_expert_overlap);
        EXPECT_EQ(plan.recompute_granularity, Recompute::selective);
        return plan.recompute_modules;
    };
    EXPECT_EQ(modules("h100-80g"), static_cast<std::uint32_t>(RecomputeModule::mla_up_proj));
    EXPECT_EQ(modules("gb200"), static_cast<std::uint32_t>(RecomputeModule::core_attn));
    EXPECT_EQ(recipe_entry("nemo-25.02", with_recipes()), "");
}

// Its Transformer Engine has no fused attention on Blackwell for heads of latent attention.
TEST(Recipe, OfNemoStoresScoresOnBlackwell) {
    PublishedCase row = row_of("nemo-25.04", "gb200", Dtype::bf16);
    row.assumed.emplace_back("attention_kernel");
    EXPECT_EQ(with_recipe(row).attention_kernel, AttentionKernel::unfused);
    EXPECT_TRUE(with_recipe(row).eager_attention);
    row.gpu = "h100-80g";
    EXPECT_NE(with_recipe(row).attention_kernel, AttentionKernel::unfused);
    EXPECT_FALSE(with_recipe(row).eager_attention);
}

// Its script of Llama 4 drops tokens beyond an expert's mean, too.
TEST(Recipe, OfNemoDropsTokensOfLlama4) {
    PublishedCase row = row_of("nemo-25.04", "h100-80g", Dtype::fp8);
    row.model.name = "llama-4-maverick";
    row.assumed = {"token_dispatcher", "tp_comm_overlap"};
    const ParallelPlan plan = with_recipe(row);
    EXPECT_EQ(plan.moe_expert_capacity_factor, 1);
    EXPECT_TRUE(plan.moe_pad_expert_input_to_capacity);
    EXPECT_TRUE(plan.tp_comm_overlap);
}

// The model zoo's scripts of 2026; H100's steps are older than the fused router.
TEST(Recipe, OfTheModelZooFusesTheRouter) {
    PublishedCase row = row_of("megatron-core-dev", "gb300", Dtype::fp8);
    row.model.name = "qwen3-235b-a22b";
    const ParallelPlan plan = with_recipe(row);
    EXPECT_EQ(plan.moe_dispatcher_sms, 32);
    EXPECT_TRUE(plan.moe_router_fusion);
    row.gpu = "h100-80g";
    EXPECT_FALSE(with_recipe(row).moe_router_fusion);
}

// Moonlight's provider of Megatron Bridge fuses no rotary embedding.
TEST(Recipe, OfMoonlightHasAnEagerRotaryEmbedding) {
    PublishedCase row = row_of("megatron-bridge-2026.08", "h100-80g", Dtype::bf16);
    row.model.name = "moonlight-16b-a3b";
    EXPECT_TRUE(with_recipe(row).eager_rope);
    row.stack = "megatron-bridge-2026.05";
    EXPECT_FALSE(with_recipe(row).eager_rope);
}

// Its scripts of larger models have a fused loss.
TEST(Recipe, OfOlmoCoresSmallestModelHasAnEagerLoss) {
    PublishedCase row = row_of("olmo-core-2024-11", "h100-80g", Dtype::bf16);
    row.model.name = "olmo-1b";
    EXPECT_FALSE(with_recipe(row).fused_cross_entropy);
    row.model.name = "olmo-7b";
    EXPECT_TRUE(with_recipe(row).fused_cross_entropy);
}

// The fake gate of AutoModel's benchmarks, and what differs from model to model.
TEST(Recipe, OfAutoModelTakesConsecutiveExperts) {
    PublishedCase row = row_of("nemo-automodel-fsdp2", "h100-80g", Dtype::bf16);
    row.model.name = "deepseek-v3";
    EXPECT_EQ(with_recipe(row).moe_router_load, RouterLoad::consecutive);
    EXPECT_TRUE(with_recipe(row).moe_shared_expert_overlap);
    row.model.name = "gpt-oss-20b";
    row.assumed.emplace_back("attention_kernel");
    EXPECT_EQ(with_recipe(row).attention_kernel, AttentionKernel::flash_2);
    EXPECT_FALSE(with_recipe(row).reshard_after_forward);
    row.model.name = "gpt-oss-120b";
    EXPECT_TRUE(with_recipe(row).reshard_after_forward);
}

TEST(Recipe, LeavesOtherModelsAlone) {
    PublishedCase row = row_of("mb26.08", "gb200", Dtype::fp8);
    row.model.name = "llama-3-70b";
    EXPECT_FALSE(with_recipe(row).cuda_graphs);
}

TEST(Recipe, StatesAreColumnsThatNoRowAssumes) {
    const PublishedCase row = row_of("mb26.08", "gb200", Dtype::fp8);
    EXPECT_FALSE(states(row, "recompute_granularity"));
    EXPECT_TRUE(states(row, "micro_batch_size"));
    EXPECT_FALSE(states(row, "cuda_graphs"));
}

}  // namespace
}  // namespace orrery
