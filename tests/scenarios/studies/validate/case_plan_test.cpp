// SPDX-License-Identifier: Apache-2.0
// What a row's software, columns and features mean as a plan.
#include <gtest/gtest.h>

#include <map>

#include "scenarios/studies/validate/published_cases.h"

namespace orrery {
namespace {

const Catalogue& with_stacks() {
    static const Catalogue catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
    return catalogue;
}

std::map<std::string, PublishedCase> published_rows(const std::string& table) {
    const auto rows =
        read_published_cases(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/" + table);
    EXPECT_TRUE(rows) << rows.error().front().to_string();
    std::map<std::string, PublishedCase> by_name;
    for (const PublishedCase& row : *rows) {
        by_name[row.name] = row;
    }
    return by_name;
}

TEST(CasePlan, RowsOfOtherStacksAreExpressible) {
    for (const auto& [name, row] : published_rows("training_more.csv")) {
        const auto scenario = scenario_of(row, with_stacks());
        ASSERT_TRUE(scenario) << name << ": " << scenario.error().to_string();
        const bool split = row.features.find("vocabulary_parallel") != std::string::npos;
        EXPECT_EQ(scenario->plan.vocabulary_parallel, split) << name;
    }
}

TEST(CasePlan, RowsFoundLaterAreExpressible) {
    const auto rows = published_rows("training_blind.csv");
    EXPECT_EQ(rows.size(), 336U);
    for (const auto& [name, row] : rows) {
        const auto scenario = scenario_of(row, with_stacks());
        EXPECT_TRUE(scenario) << name << ": " << scenario.error().to_string();
    }
}

// Gathers stay in XLA's loop over layers, each matrix by itself, unless its flags say otherwise.
TEST(CasePlan, StacksSayHowTheyGatherAndReduce) {
    const std::map<std::string, PublishedCase> rows = published_rows("training_more.csv");
    const auto plan_of = [&](const char* name) {
        const auto scenario = scenario_of(rows.at(name), with_stacks());
        EXPECT_TRUE(scenario) << name;
        return scenario ? scenario->plan : ParallelPlan{};
    };
    const ParallelPlan pax = plan_of("PAX-2025-05-h100-5B-te-bf16");
    EXPECT_EQ(pax.fsdp_unit_layers, 0);
    EXPECT_FALSE(pax.overlap_param_gather);
    const ParallelPlan maxtext = plan_of("MXT-L2-7b-h100-8");
    EXPECT_EQ(maxtext.fsdp_unit_layers, 1);
    EXPECT_TRUE(maxtext.overlap_param_gather);
    const ParallelPlan internevo = plan_of("IE-t1-zall-8");
    EXPECT_FALSE(internevo.reduce_scatter);
    EXPECT_EQ(internevo.ddp_bucket_size, 512 * 1024 * 1024);
    EXPECT_EQ(internevo.loss_metrics, 2);
}

// Until PyTorch 2.9 a norm that is not compiled is a chain of operators.
TEST(CasePlan, NormsAreEagerUnlessCompiled) {
    const std::map<std::string, PublishedCase> rows = published_rows("training_more.csv");
    for (const auto& [name, eager] : {std::pair{"TT-1a", true},
                                      {"AO-f8nc-none-bf16-eager", true},
                                      {"TTUNE-3b-base", true},
                                      {"AO-h100-8b-bf16", false},
                                      {"TT-H200-4n", false}}) {
        const auto scenario = scenario_of(rows.at(name), with_stacks());
        ASSERT_TRUE(scenario) << name;
        EXPECT_EQ(scenario->plan.eager_norm && !scenario->plan.compiled, eager) << name;
    }
}

// NCCL on Jean Zay's Omni-Path.
TEST(CasePlan, BloomsNetworkHasTheMeasuredRate) {
    const PublishedCase row = published_rows("training_more.csv").at("BLOOM-full");
    const auto scenario = scenario_of(row, with_stacks());
    ASSERT_TRUE(scenario);
    const FabricSpec& fabric = scenario->cluster.fabric;
    const auto line = static_cast<double>(fabric.nic_bandwidth.bits_per_second()) * 1e-9;
    EXPECT_NEAR(line * fabric.nics_per_node * fabric.efficiency, 135, 1);
}

PublishedCase titan_row() {
    PublishedCase row;
    row.stack = "torchtitan-2024-12";
    row.plan.precision = Dtype::fp8;
    row.flash_attention = true;
    row.model.num_layers = 10;
    return row;
}

ParallelPlan plan_of_row(const PublishedCase& row, DeviceSpec device = {}) {
    ParallelPlan plan = row.plan;
    const auto set = set_case_plan(row, with_stacks(), device, plan);
    EXPECT_TRUE(set) << set.error().to_string();
    return plan;
}

std::uint32_t bits(std::initializer_list<RecomputeModule> modules) {
    std::uint32_t all = 0;
    for (const RecomputeModule module : modules) {
        all |= static_cast<std::uint32_t>(module);
    }
    return all;
}

TEST(CasePlan, ColumnsSayWhatRunsAgain) {
    using Module = RecomputeModule;
    PublishedCase row = titan_row();
    row.recompute_detail = "op_every_second_matmul";
    EXPECT_EQ(plan_of_row(row).recompute_granularity, Recompute::selective);
    EXPECT_EQ(plan_of_row(row).recompute_modules, bits({Module::every_second_projection}));
    row.features = "sac_fp8_linears_recomputed";
    EXPECT_EQ(plan_of_row(row).recompute_modules, bits({Module::linear}));
    row.recompute_detail = "every_second_layer";
    EXPECT_EQ(plan_of_row(row).recompute_granularity, Recompute::full);
    EXPECT_EQ(plan_of_row(row).recompute_method, RecomputeMethod::every);
    EXPECT_EQ(plan_of_row(row).recompute_num_layers, 2);
    row.recompute_detail = "norm";
    EXPECT_EQ(plan_of_row(row).recompute_granularity, Recompute::selective);
    EXPECT_EQ(plan_of_row(row).recompute_modules, bits({Module::layernorm}));
    row.recompute_detail = "remat=save_dot_with_no_batch_dims";
    EXPECT_EQ(plan_of_row(row).recompute_modules,
              bits({Module::core_attn, Module::layernorm, Module::activation}));
    row.recompute_detail = "remat=nothing_of_the_kind";
    ParallelPlan plan = row.plan;
    DeviceSpec device;
    EXPECT_FALSE(set_case_plan(row, with_stacks(), device, plan));
}

TEST(CasePlan, FeaturesSayHowFp8IsScaledAndTravels) {
    PublishedCase row = titan_row();
    EXPECT_EQ(plan_of_row(row).fp8_recipe, Fp8Recipe::tensorwise);  // torchtitan's default
    EXPECT_FALSE(plan_of_row(row).fp8_param_gather);
    row.features = "float8_dynamic_rowwise;torch_compile";
    EXPECT_EQ(plan_of_row(row).fp8_recipe, Fp8Recipe::rowwise);
    EXPECT_TRUE(plan_of_row(row).compiled);
    row.features = "mxfp8;float8_all_gather";
    EXPECT_EQ(plan_of_row(row).fp8_recipe, Fp8Recipe::mxfp8);
    EXPECT_TRUE(plan_of_row(row).fp8_param_gather);
    row.stack = "nemo-24.05";
    row.features = "fp8_hybrid";
    EXPECT_EQ(plan_of_row(row).fp8_recipe, Fp8Recipe::delayed);
}

TEST(CasePlan, ColumnAndStackSayHowTheOptimizerSteps) {
    PublishedCase row = titan_row();
    row.stack = "torchtitan-2025-06";
    EXPECT_TRUE(plan_of_row(row).fused_optimizer);
    row.optimizer = "adamw_foreach";
    EXPECT_FALSE(plan_of_row(row).fused_optimizer);
    row.optimizer = "adamw_fused";
    row.stack = "torchtitan-2024-12";
    EXPECT_FALSE(plan_of_row(row).fused_optimizer);
    row.optimizer = "lamb";
    EXPECT_TRUE(plan_of_row(row).fused_optimizer);
}

TEST(CasePlan, AttentionKernelsByColumnStackAndDevice) {
    PublishedCase row = titan_row();
    DeviceSpec hopper;
    hopper.generation = "hopper";
    hopper.compute_capability = 90;
    row.attention_kernel = "te_fused";
    EXPECT_EQ(plan_of_row(row, hopper).attention_kernel, AttentionKernel::cudnn);
    EXPECT_EQ(plan_of_row(row).attention_kernel, AttentionKernel::flash_2);
    row.attention_kernel = "megatron_fused_softmax";
    EXPECT_EQ(plan_of_row(row, hopper).attention_kernel, AttentionKernel::unfused);
    row.attention_kernel = "";
    row.stack = "megatron-core-r0.8";
    EXPECT_EQ(plan_of_row(row, hopper).attention_kernel, AttentionKernel::cudnn);
    row.flash_attention = false;
    EXPECT_EQ(plan_of_row(row, hopper).attention_kernel, AttentionKernel::unfused);
}

TEST(CasePlan, ShardsAndStagesAsTheRowHasThem) {
    PublishedCase row = titan_row();
    row.features = "zero1_shard=8;uneven_pipeline_stages;pipeline_layers=3/3/4/0";
    row.plan.pipeline_model_parallel_size = 4;
    EXPECT_EQ(plan_of_row(row).hsdp_shard_size, 8);
    EXPECT_EQ(plan_of_row(row).pipeline_layout, (std::vector<std::int64_t>{3, 3, 4, 0}));
    row.features = "uneven_pipeline_stages";
    EXPECT_EQ(plan_of_row(row).pipeline_layout, (std::vector<std::int64_t>{3, 3, 2, 2}));
}

TEST(CasePlan, APowerCapLimitsTheDevice) {
    PublishedCase row = titan_row();
    row.power_cap_w = 500;
    DeviceSpec device;
    ParallelPlan plan = row.plan;
    ASSERT_TRUE(set_case_plan(row, with_stacks(), device, plan));
    EXPECT_EQ(device.power_limit, 500);
}

TEST(CasePlan, ExpertColumnsNameLibraryOverlapAndLoad) {
    PublishedCase row;
    row.stack = "megatron-bridge-2026";
    row.plan.precision = Dtype::bf16;
    row.flash_attention = true;
    row.model.num_layers = 48;
    row.token_dispatcher = "hybridep";
    row.overlap_moe_expert_parallel_comm = true;
    row.router_balance = "forced";
    row.features = "dispatcher_sms=32;delay_wgrad";
    const ParallelPlan plan = plan_of_row(row);
    EXPECT_EQ(plan.moe_token_dispatcher_type, TokenDispatcher::hybridep);
    EXPECT_EQ(plan.moe_dispatcher_sms, 32);
    EXPECT_TRUE(plan.overlap_moe_expert_parallel_comm);
    EXPECT_TRUE(plan.delay_wgrad_compute);
    EXPECT_EQ(plan.moe_router_load, RouterLoad::uniform);
    EXPECT_EQ(plan.pipeline_flushes, 1);
    row.features = "natural_routing;pipeline_flushes=4";
    EXPECT_EQ(plan_of_row(row).moe_router_load, RouterLoad::zipf);
    EXPECT_EQ(plan_of_row(row).pipeline_flushes, 4);
    row.features = "";
    row.stack = "nemo-automodel-fsdp2";  // its recipe has a way of its own to force it
    row.model.name = "qwen3-30b-a3b";
    row.gpu = "h100-80g";
    EXPECT_EQ(plan_of_row(row).moe_router_load, RouterLoad::consecutive);
    row.token_dispatcher = "pigeon";
    DeviceSpec device;
    ParallelPlan refused;
    EXPECT_EQ(set_case_plan(row, with_stacks(), device, refused).error().what,
              "token dispatcher 'pigeon' is not expressible");
}

TEST(CasePlan, ZeroPlusPlusAndOffloadAreWords) {
    PublishedCase row;
    row.stack = "deepspeed";
    row.plan.precision = Dtype::fp16;
    row.model.num_layers = 40;
    row.features = "zero3";
    row.quantized_communication = "qwZ=int8;hpZ=16;qgZ=int4";
    row.offload = "optimizer:cpu;gradients:cpu";
    const ParallelPlan plan = plan_of_row(row);
    EXPECT_TRUE(plan.zero_quantized_weights);
    EXPECT_TRUE(plan.zero_quantized_gradients);
    EXPECT_EQ(plan.zero_hpz_partition_size, 16);
    EXPECT_TRUE(plan.optimizer_cpu_offload);
    EXPECT_EQ(plan.grad_offload_tier, StateTier::host);
    EXPECT_EQ(plan.gradient_dtype, Dtype::fp32);
    EXPECT_TRUE(plan.offload_fp32_weights);
    row.offload = "optimizer:cpu";
    EXPECT_EQ(plan_of_row(row).grad_offload_tier, StateTier::device);
    EXPECT_EQ(plan_of_row(row).gradient_dtype, Dtype::fp16);
    row.offload = {};
    EXPECT_FALSE(plan_of_row(row).offload_fp32_weights);
}

// PyTorch's LayerNorm is one kernel; hand-written RMSNorms are chains, unless a row says fused.
TEST(CasePlan, OnlyAnRmsNormIsAChainOfOperators) {
    PublishedCase row = titan_row();
    row.model.activation = Activation::swiglu;
    EXPECT_TRUE(plan_of_row(row).eager_norm);
    row.features = "fused_rmsnorm";
    EXPECT_FALSE(plan_of_row(row).eager_norm);
    row.features = {};
    row.model.activation = Activation::gelu;
    EXPECT_FALSE(plan_of_row(row).eager_norm);
}

TEST(CasePlan, RowsSayThatPyTorchsOperatorsMoveTheirRows) {
    PublishedCase row;
    row.stack = "megatron-core-dev";
    row.plan.precision = Dtype::bf16;
    row.model.num_layers = 32;
    row.model.num_experts = 8;
    row.token_dispatcher = "alltoall";
    EXPECT_TRUE(plan_of_row(row).moe_permute_fusion);
    row.features = "no_permute_fusion";
    EXPECT_FALSE(plan_of_row(row).moe_permute_fusion);
}

// DeepSpeed around a Llama is not around Megatron-LM's model.
TEST(CasePlan, DeepSpeedTrainsTheModelsOfOtherLibraries) {
    PublishedCase row;
    row.stack = "deepspeed-0.11";
    row.plan.precision = Dtype::bf16;
    row.model.num_layers = 32;
    row.model.activation = Activation::swiglu;
    EXPECT_TRUE(plan_of_row(row).eager_rope);
    row.model.activation = Activation::gelu;
    EXPECT_FALSE(plan_of_row(row).eager_rope);
}

// NVTE_FUSED_ATTN=0 of the launchers up to 24.07.
TEST(CasePlan, ReleasesOfNemoTakeTheirOwnAttentionKernel) {
    PublishedCase row;
    row.plan.precision = Dtype::fp8;
    row.flash_attention = true;
    row.model.num_layers = 32;
    DeviceSpec hopper;
    hopper.generation = "hopper";
    hopper.compute_capability = 90;
    for (const char* release : {"nemo-24.03", "nemo-24.05", "nemo-24.07", "nemo24.07"}) {
        row.stack = release;
        EXPECT_EQ(plan_of_row(row, hopper).attention_kernel, AttentionKernel::flash_2) << release;
    }
    row.stack = "nemo-24.09";
    EXPECT_EQ(plan_of_row(row, hopper).attention_kernel, AttentionKernel::cudnn);
}

TEST(CasePlan, RecipesOfDenseModelsCaptureGraphs) {
    const auto rows = published_rows("training_blind.csv");
    EXPECT_TRUE(scenario_of(rows.at("NeMo25.04-GB200-GPT3-175B"), with_stacks())->plan.cuda_graphs);
    EXPECT_TRUE(scenario_of(rows.at("NeMoLong-b200-8k"), with_stacks())->plan.cuda_graphs);
    EXPECT_FALSE(
        scenario_of(rows.at("NeMo25.04-GB200-LLAMA3-70B"), with_stacks())->plan.cuda_graphs);
    EXPECT_FALSE(scenario_of(rows.at("NeMo25.02-B200-LLAMA3-8B"), with_stacks())->plan.cuda_graphs);
}

// Megatron-Bridge's recipes: 61 layers on 16 virtual stages are 15 times 4 and the rest.
TEST(CasePlan, BridgeGivesTheLastStageTheRest) {
    PublishedCase row;
    row.stack = "mb26.04";
    row.plan.precision = Dtype::bf16;
    row.flash_attention = true;
    row.plan.pipeline_model_parallel_size = 4;
    row.plan.virtual_pipeline_model_parallel_size = 4;
    row.model.num_layers = 61;
    const ParallelPlan plan = plan_of_row(row);
    ASSERT_EQ(plan.pipeline_layout.size(), 16U);
    EXPECT_EQ(plan.pipeline_layout.front(), 4);
    EXPECT_EQ(plan.pipeline_layout.back(), 1);
}

}  // namespace
}  // namespace orrery
