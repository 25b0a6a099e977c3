// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

const std::string kPlan = "micro_batch_size: 1\nglobal_batch_size: 8\n";

std::string plan_errors(const std::string& text, ParallelPlan* plan = nullptr) {
    Errors errors;
    ParallelPlan ignored;
    read_plan(section_of(text), plan != nullptr ? *plan : ignored, errors);
    return lines_of(errors);
}

ParallelPlan plan_of(const std::string& text) {
    ParallelPlan plan;
    EXPECT_EQ(plan_errors(text, &plan), "") << text;
    return plan;
}

TEST(ReadPlan, OnlyTheBatchIsRequired) {
    const ParallelPlan expected{.micro_batch_size = 1, .global_batch_size = 8};
    EXPECT_EQ(plan_of(kPlan), expected);
    EXPECT_EQ(plan_errors("precision: bf16\n"),
              "s.yaml:1:1: error: 'plan' lacks the key 'micro_batch_size' (hint: add "
              "'micro_batch_size: …')\n"
              "s.yaml:1:1: error: 'plan' lacks the key 'global_batch_size' (hint: add "
              "'global_batch_size: …')\n");
}

constexpr const char* kWholePlan = R"(tensor_model_parallel_size: 8
micro_batch_size: 1
global_batch_size: 16
pipeline_model_parallel_size: 2
virtual_pipeline_model_parallel_size: 3
context_parallel_size: 1
expert_model_parallel_size: 1
sequence_parallel: true
context_parallel_comm: all_to_all
data_parallel_sharding_strategy: optim
hsdp_shard_size: 0
zero_hpz_partition_size: 1
reshard_after_forward: false
fsdp_unit_layers: 4
fsdp_prefetch_units: 3
stage3_max_reuse_distance: 1000000000
precision: fp16
recompute_granularity: selective
recompute_method: block
recompute_num_layers: 2
recompute_modules: [layernorm, mlp]
schedule: breadth_first
rank_order: tp-cp-pp-dp
attention_kernel: flash_1
optimizer: lamb
gradient_accumulation_fusion: false
gradient_dtype: bf16
fused_norm: false
fused_activation: false
activation_func_fp8_input_store: true
fused_cross_entropy: false
loss_copies: 1
kept_logits: 2
loss_metrics: 2
prefetch_behind_backward: true
cuda_graphs: true
compiled: true
eager_framework: false
overlap_grad_reduce: true
overlap_param_gather: true
overlap_param_gather_with_optimizer_step: true
tp_comm_overlap: true
tp_comm_overlap_chunks: 8
async_tensor_model_parallel_allreduce: false
scatter_gather_tensors_in_pipeline: false
overlap_p2p: true
embedding_and_loss_as_layers: false
ddp_bucket_size: 40000000
pipeline_layout: [16, 16, 16, 16, 16, 16]
fp8_recipe: mxfp8
fp8_param_gather: true
fp8_dot_product_attention: true
reduce_every_micro_batch: true
zero_whole_parameters: true
zero_copies_parts: true
gradient_bucket_copies: true
lazy_module_loading: false
deallocate_pipeline_outputs: false
pipeline_engine_groups: true
reduce_bucket_size: 500000000
repeat_key_value_heads: true
context_parallel_fp32_gradients: true
fsdp_copy_out: true
)";

TEST(ReadPlan, EveryKeyReachesItsField) {
    const ParallelPlan expected{
        .tensor_model_parallel_size = 8,
        .pipeline_model_parallel_size = 2,
        .virtual_pipeline_model_parallel_size = 3,
        .context_parallel_size = 1,
        .sequence_parallel = true,
        .context_parallel_comm = ContextParallelComm::all_to_all,
        .repeat_key_value_heads = true,
        .context_parallel_fp32_gradients = true,
        .data_parallel_sharding_strategy = ShardingStrategy::optim,
        .hsdp_shard_size = 0,
        .zero_hpz_partition_size = 1,
        .reshard_after_forward = false,
        .fsdp_unit_layers = 4,
        .fsdp_prefetch_units = 3,
        .stage3_max_reuse_distance = 1'000'000'000,
        .micro_batch_size = 1,
        .global_batch_size = 16,
        .precision = Dtype::fp16,
        .recompute_granularity = Recompute::selective,
        .recompute_method = RecomputeMethod::block,
        .recompute_num_layers = 2,
        .recompute_modules = static_cast<std::uint32_t>(RecomputeModule::layernorm) |
                             static_cast<std::uint32_t>(RecomputeModule::mlp),
        .schedule = ScheduleKind::breadth_first,
        .rank_order = RankOrder::tp_cp_pp_dp,
        .attention_kernel = AttentionKernel::flash_1,
        .optimizer = Optimizer::lamb,
        .gradient_accumulation_fusion = false,
        .gradient_dtype = Dtype::bf16,
        .overlap_grad_reduce = true,
        .overlap_param_gather = true,
        .overlap_param_gather_with_optimizer_step = true,
        .tp_comm_overlap = true,
        .overlap_p2p = true,
        .async_tensor_model_parallel_allreduce = false,
        .scatter_gather_tensors_in_pipeline = false,
        .tp_comm_overlap_chunks = 8,
        .fused_norm = false,
        .fused_activation = false,
        .activation_func_fp8_input_store = true,
        .fused_cross_entropy = false,
        .loss_copies = 1,
        .kept_logits = 2,
        .loss_metrics = 2,
        .eager_framework = false,
        .lazy_module_loading = false,
        .cuda_graphs = true,
        .compiled = true,
        .embedding_and_loss_as_layers = false,
        .deallocate_pipeline_outputs = false,
        .pipeline_engine_groups = true,
        .prefetch_behind_backward = true,
        .ddp_bucket_size = 40'000'000,
        .pipeline_layout = {16, 16, 16, 16, 16, 16},
        .fp8_recipe = Fp8Recipe::mxfp8,
        .fp8_param_gather = true,
        .fp8_dot_product_attention = true,
        .reduce_every_micro_batch = true,
        .zero_whole_parameters = true,
        .zero_copies_parts = true,
        .gradient_bucket_copies = true,
        .reduce_bucket_size = 500'000'000,
        .fsdp_copy_out = true,
    };
    EXPECT_EQ(plan_of(kWholePlan), expected);
}

TEST(ReadPlan, WordsOfMegatronMeanTheSame) {
    EXPECT_EQ(plan_of(kPlan + "context_parallel_comm: p2p\n").context_parallel_comm,
              ContextParallelComm::ring);
    EXPECT_EQ(plan_of(kPlan + "context_parallel_comm: a2a\n").context_parallel_comm,
              ContextParallelComm::all_to_all);
    EXPECT_EQ(plan_of(kPlan + "rank_order: tp-cp-ep-pp-dp\n").rank_order, RankOrder::tp_cp_pp_dp);
}

TEST(ReadPlan, ZeroHasFourStages) {
    const std::string key = "data_parallel_sharding_strategy: ";
    int stage = 0;
    for (const char* word : {"no_shard", "optim", "optim_grads", "optim_grads_params"}) {
        EXPECT_EQ(plan_of(kPlan + key + word + "\n").data_parallel_sharding_strategy,
                  static_cast<ShardingStrategy>(stage++));
    }
    EXPECT_NE(plan_errors(kPlan + key + "zero_2\n").find("one of no_shard, optim, optim_grads"),
              std::string::npos);
}

TEST(ReadPlan, AGivenScheduleWinsOverTheOneOfVirtualStages) {
    const std::string text = kPlan + "virtual_pipeline_model_parallel_size: 2\n";
    EXPECT_EQ(plan_of(text).schedule, ScheduleKind::interleaved_1f1b);
    EXPECT_EQ(plan_of(text + "schedule: breadth_first\n").schedule, ScheduleKind::breadth_first);
}

TEST(ReadPlan, APipelineThereAndBackHasTwoChunks) {
    const std::string key = "virtual_pipeline_model_parallel_size";
    EXPECT_EQ(plan_of(kPlan + "schedule: dualpipev\n").virtual_pipeline_model_parallel_size, 2);
    const std::string given = kPlan + "schedule: dualpipev\n" + key + ": 1\n";
    EXPECT_EQ(plan_of(given).virtual_pipeline_model_parallel_size, 1);  // refused later
    EXPECT_EQ(plan_of(kPlan + "schedule: dualpipe\n").virtual_pipeline_model_parallel_size, 1);
}

TEST(ReadPlan, DerivedAndFutureKeysAreRefusedWithTheirReason) {
    EXPECT_EQ(plan_errors(kPlan + "data_parallel_size: 4\n"),
              "s.yaml:3:1: error: data_parallel_size is derived, never given (hint: remove it: it "
              "is the number of GPUs / (tensor * pipeline * context))\n");
    EXPECT_EQ(plan_errors(kPlan + "expert_model_parallel_size: 1\n"), "");
}

TEST(ReadPlan, SizesHaveBounds) {
    for (const char* key : {"tensor_model_parallel_size",
                            "pipeline_model_parallel_size",
                            "context_parallel_size",
                            "virtual_pipeline_model_parallel_size",
                            "tp_comm_overlap_chunks"}) {
        for (const char* value : {"0", "-1", "1000000000"}) {
            const std::string errors = plan_errors(kPlan + key + ": " + value + "\n");
            EXPECT_NE(errors.find(std::string{"plan."} + key + " is " + value + ", out of range"),
                      std::string::npos)
                << errors;
        }
    }
    EXPECT_NE(plan_errors(kPlan + "pipeline_layout: [4, -1]\n").find("s.yaml:3:22: error: "),
              std::string::npos);
}

TEST(ReadPlan, ASectionThatIsNoMapIsOneError) {
    EXPECT_EQ(plan_errors("words\n"), "s.yaml:1:1: error: plan must be a map, not 'words'\n");
}

}  // namespace
}  // namespace orrery
