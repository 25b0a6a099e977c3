// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/recipe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/scenarios/test_folder.h"

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
    row.assumed = {
        "recompute_granularity", "overlap_moe_expert_parallel_comm", "token_dispatcher"};
    return row;
}

ParallelPlan with_recipe(const PublishedCase& row) {
    ParallelPlan plan = row.plan;
    DeviceSpec device;
    const Result<void> set = set_recipe(row, with_recipes(), device, plan);
    EXPECT_TRUE(set) << set.error().to_string();
    return plan;
}

double host_calls(const std::string& stack, const std::string& gpu, const std::string& model) {
    PublishedCase row = row_of(stack, gpu, Dtype::bf16);
    row.model.name = model;
    DeviceSpec device;
    device.launch_cost = Time::seconds(1e-5);
    const Result<void> set = set_recipe(row, with_recipes(), device, row.plan);
    EXPECT_TRUE(set) << set.error().to_string();
    return device.launch_cost / Time::seconds(1e-5);
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
    EXPECT_EQ(recipe_entry("megatron-bridge-2026.05", with_recipes()), "");  // before the first one
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
    // The next release but one overlaps the exchange.
    EXPECT_TRUE(
        with_recipe(row_of("mb26.08", "gb200", Dtype::fp8)).overlap_moe_expert_parallel_comm);
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

TEST(Recipe, ReleasesSayHowLongHostsTakeForACall) {
    EXPECT_DOUBLE_EQ(host_calls("nemo-25.04", "gb200", "deepseek-v3"), 1);
    EXPECT_DOUBLE_EQ(host_calls("megatron-bridge-2026.07", "h100-80g", "qwen3-30b-a3b"), 1.49);
    EXPECT_DOUBLE_EQ(host_calls("megatron-bridge-2026.08", "h100-80g", "moonlight"), 1.49);
    EXPECT_DOUBLE_EQ(host_calls("megatron-bridge-2026.08", "gb200", "moonlight"), 1);
    EXPECT_DOUBLE_EQ(host_calls("megatron-bridge-2026.05", "h100-80g", "qwen3-30b-a3b"), 1);
    EXPECT_DOUBLE_EQ(host_calls("mb26.06", "gb200", "deepseek-v3"), 1);
}

TEST(Recipe, HostCallsAreOfKnownDevices) {
    const TestFolder folder;
    std::filesystem::create_directories(folder / "devices");
    std::filesystem::create_directories(folder / "recipes");
    folder.write("devices/gb200.yaml", "kind: device\nname: gb200\n");
    const auto error_of = [&](const std::string& recipe) {
        folder.write("recipes/r.yaml", "kind: recipe\n" + recipe);
        PublishedCase row = row_of("r", "gb200", Dtype::bf16);
        DeviceSpec device;
        const auto set = set_recipe(row, Catalogue{folder.path()}, device, row.plan);
        return set ? std::string{} : set.error().to_string();
    };
    EXPECT_NE(error_of("host_calls: {gb20: 2}\n").find("no device 'gb20' (hint: did you mean"),
              std::string::npos);
    EXPECT_NE(error_of("host_calls: 2\n").find("host_calls is a map of devices"),
              std::string::npos);
    EXPECT_EQ(error_of("host_calls: {gb200: 2}\n"), "");
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
