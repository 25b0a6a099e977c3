// SPDX-License-Identifier: Apache-2.0
// The plan section: the fields of ParallelPlan under their own names, which are Megatron-LM's.
#include "scenarios/read/map_reader.h"
#include "scenarios/read/plan_words.h"
#include "scenarios/read/read_sections.h"

namespace orrery {
namespace {

constexpr Choice<ContextParallelComm> kContextParallelComms[] = {
    {"ring", ContextParallelComm::ring},
    {"all_to_all", ContextParallelComm::all_to_all},
    {"p2p", ContextParallelComm::ring},  // Megatron-LM's --cp-comm-type
    {"a2a", ContextParallelComm::all_to_all},
};
constexpr Choice<Optimizer> kOptimizers[] = {
    {"adam", Optimizer::adam},
    {"lamb", Optimizer::lamb},
};
constexpr Choice<Dtype> kPrecisions[] = {
    {"bf16", Dtype::bf16},
    {"fp16", Dtype::fp16},
    {"fp8", Dtype::fp8},
    {"fp32", Dtype::fp32},
};
constexpr Choice<Dtype> kGradientDtypes[] = {
    {"fp32", Dtype::fp32},
    {"bf16", Dtype::bf16},
    {"fp16", Dtype::fp16},
};

constexpr Choice<Dtype> kMainParamsDtypes[] = {
    {"fp32", Dtype::fp32},
    {"bf16", Dtype::bf16},
};

void read_sizes(MapReader& reader, ParallelPlan& plan) {
    constexpr IntegerRange kSize{1, 4'000'000};
    reader.integer("tensor_model_parallel_size", plan.tensor_model_parallel_size, kSize);
    reader.integer("pipeline_model_parallel_size", plan.pipeline_model_parallel_size, kSize);
    reader.integer("virtual_pipeline_model_parallel_size",
                   plan.virtual_pipeline_model_parallel_size,
                   {1, 100'000});
    reader.integer("context_parallel_size", plan.context_parallel_size, kSize);
    std::int64_t expert_parallel = 1;
    if (reader.integer("expert_model_parallel_size", expert_parallel, kSize) &&
        expert_parallel != 1) {
        reader.complain("expert_model_parallel_size",
                        "expert parallelism is not supported yet",
                        "1, or leave it out");
    }
    reader.refuse("data_parallel_size",
                  "data_parallel_size is derived, never given",
                  "remove it: it is the number of GPUs / (tensor * pipeline * context)");
    reader.integer("micro_batch_size", plan.micro_batch_size, {1, 100'000'000}, Presence::required);
    reader.integer(
        "global_batch_size", plan.global_batch_size, {1, 1'000'000'000}, Presence::required);
}

void read_recomputation(MapReader& reader, ParallelPlan& plan) {
    reader.choice("recompute_granularity", plan.recompute_granularity, kRecomputes);
    reader.choice("recompute_method", plan.recompute_method, kRecomputeMethods);
    reader.integer("recompute_num_layers", plan.recompute_num_layers, {1, 1'000'000});
    std::vector<RecomputeModule> modules;
    if (reader.choices("recompute_modules", modules, kRecomputeModules)) {
        plan.recompute_modules = 0;
        for (const RecomputeModule module : modules) {
            plan.recompute_modules |= static_cast<std::uint32_t>(module);
        }
    }
}

void read_stack(MapReader& reader, ParallelPlan& plan) {
    reader.choice("attention_kernel", plan.attention_kernel, kAttentionKernels);
    reader.choice("optimizer", plan.optimizer, kOptimizers);
    reader.boolean("gradient_accumulation_fusion", plan.gradient_accumulation_fusion);
    reader.choice("gradient_dtype", plan.gradient_dtype, kGradientDtypes);
    reader.choice("main_params_dtype", plan.main_params_dtype, kMainParamsDtypes);
    reader.boolean("bf16_stochastic_round", plan.bf16_stochastic_round);
    reader.boolean("fused_norm", plan.fused_norm);
    reader.boolean("fused_activation", plan.fused_activation);
    reader.boolean("fused_cross_entropy", plan.fused_cross_entropy);
    reader.integer("loss_metrics", plan.loss_metrics, {0, 100});
    reader.boolean("eager_framework", plan.eager_framework);
    reader.boolean("cuda_graphs", plan.cuda_graphs);
    reader.boolean("compiled", plan.compiled);
}

}  // namespace

void read_plan(const DocumentNode& section, ParallelPlan& plan, Errors& errors) {
    if (!section.is_map()) {
        errors.push_back({section.where(), "plan must be a map, not " + section.describe(), {}});
        return;
    }
    MapReader reader{section, "plan", errors};
    read_sizes(reader, plan);
    reader.boolean("sequence_parallel", plan.sequence_parallel);
    reader.choice("context_parallel_comm", plan.context_parallel_comm, kContextParallelComms);
    reader.choice("data_parallel_sharding_strategy",
                  plan.data_parallel_sharding_strategy,
                  kShardingStrategies);
    reader.integer("hsdp_shard_size", plan.hsdp_shard_size, {0, 4'000'000});
    reader.integer("zero_hpz_partition_size", plan.zero_hpz_partition_size, {0, 4'000'000});
    reader.boolean("reshard_after_forward", plan.reshard_after_forward);
    reader.integer("fsdp_unit_layers", plan.fsdp_unit_layers, {0, 1'000'000});
    reader.integer("fsdp_prefetch_units", plan.fsdp_prefetch_units, {1, kPrefetchUnitsMax});
    reader.choice("precision", plan.precision, kPrecisions);
    read_recomputation(reader, plan);
    if (plan.virtual_pipeline_model_parallel_size > 1) {
        plan.schedule = ScheduleKind::interleaved_1f1b;
    }
    reader.choice("schedule", plan.schedule, kSchedules);
    reader.choice("rank_order", plan.rank_order, kRankOrders);
    read_stack(reader, plan);
    reader.boolean("overlap_grad_reduce", plan.overlap_grad_reduce);
    reader.boolean("overlap_param_gather", plan.overlap_param_gather);
    reader.boolean("overlap_param_gather_with_optimizer_step",
                   plan.overlap_param_gather_with_optimizer_step);
    reader.boolean("prefetch_behind_backward", plan.prefetch_behind_backward);
    reader.boolean("tp_comm_overlap", plan.tp_comm_overlap);
    reader.boolean("async_tensor_model_parallel_allreduce",
                   plan.async_tensor_model_parallel_allreduce);
    reader.boolean("scatter_gather_tensors_in_pipeline", plan.scatter_gather_tensors_in_pipeline);
    reader.integer(
        "tp_comm_overlap_chunks", plan.tp_comm_overlap_chunks, {1, kTpCommOverlapChunksMax});
    reader.boolean("overlap_p2p", plan.overlap_p2p);
    reader.boolean("embedding_and_loss_as_layers", plan.embedding_and_loss_as_layers);
    reader.integer("ddp_bucket_size", plan.ddp_bucket_size, {0, 1'000'000'000'000});
    reader.integers("pipeline_layout", plan.pipeline_layout, {0, 100'000});
    reader.finish();
}

}  // namespace orrery
