// SPDX-License-Identifier: Apache-2.0
// Rows of the table of ParallelPlan's fields (models/plan/plan_fields.h): parallelism, sharding,
// batch sizes, recomputation and the schedule.
#pragma once

#include "models/plan/plan_field.h"
#include "models/plan/plan_words.h"

namespace orrery {

// clang-format off
inline constexpr FieldTable kPlanParallelismFields{
    ORRERY_PLAN_FIELD(tensor_model_parallel_size, pass,
        .meaning = "Ranks that split each layer's weight matrices between them.",
        .values = kPlanSizes, .unit = "ranks", .short_name = "tp", .searched = true,
        .flags = {"--tensor-model-parallel-size"}),
    ORRERY_PLAN_FIELD(pipeline_model_parallel_size, pass,
        .meaning = "Stages that the layers are split into.",
        .values = kPlanSizes, .unit = "stages", .short_name = "pp", .searched = true,
        .flags = {"--pipeline-model-parallel-size"}),
    ORRERY_PLAN_FIELD(stage_tensor_model_parallel_sizes, pass,
        .meaning = "tensor_model_parallel_size of each pipeline stage, where stages differ.",
        .values = kPlanSizes, .unit = "ranks", .searched = true),
    ORRERY_PLAN_FIELD(virtual_pipeline_model_parallel_size, step,
        .meaning = "Model chunks of each pipeline rank.",
        .values = {1, 100'000}, .unit = "chunks", .short_name = "vpp", .searched = true,
        .translated_flags = {"--num-layers-per-virtual-pipeline-stage",
                             "--num-virtual-stages-per-pipeline-rank",
                             "--virtual-pipeline-model-parallel-size"}),
    ORRERY_PLAN_FIELD(context_parallel_size, pass,
        .meaning = "Ranks that split each sequence between them.",
        .values = kPlanSizes, .unit = "ranks", .short_name = "cp", .searched = true,
        .flags = {"--context-parallel-size"}),
    ORRERY_PLAN_FIELD(data_parallel_size, pass,
        .use = FieldUse::derived,
        .meaning = "Replicas of the model: the number of GPUs / (tensor * pipeline * context).",
        .values = kPlanSizes, .unit = "ranks", .short_name = "dp"),
    ORRERY_PLAN_FIELD(sequence_parallel, pass,
        .meaning = "Between the tensor-parallel regions, each rank holds its part of the sequence.",
        .searched = true, .flags = {"--sequence-parallel"}),
    ORRERY_PLAN_FIELD(context_parallel_comm, pass,
        .meaning = "How context-parallel ranks exchange keys and values: in a ring, by an "
                   "all-gather before attention, or heads for sequence by all-to-all.",
        .values = kContextParallelComms, .translated_flags = {"--cp-comm-type"}),
    ORRERY_PLAN_FIELD(repeat_key_value_heads, pass,
        .meaning = "Each key-value head is copied for all query heads that share it, before ranks "
                   "exchange keys and values."),
    ORRERY_PLAN_FIELD(context_parallel_fp32_gradients, pass,
        .meaning = "Ranks of a sequence exchange the gradients of keys and values in fp32."),
    ORRERY_PLAN_FIELD(data_parallel_sharding_strategy, chunk,
        .meaning = kShardingMeaning, .values = kShardingStrategies, .searched = true,
        .flags = {"--data-parallel-sharding-strategy"},
        .translated_flags = {"--use-distributed-optimizer",
                             "--use-torch-fsdp2",
                             "--use-megatron-fsdp"}),
    ORRERY_PLAN_FIELD(hsdp_shard_size, pass,
        .meaning = "Shard in groups of this many ranks, and replicate between them; 0: over all.",
        .values = {0, 4'000'000}, .unit = "ranks"),
    ORRERY_PLAN_FIELD(zero_hpz_partition_size, pass,
        .meaning = "ZeRO 3: a forward pass leaves each group of this many ranks a secondary "
                   "copy of the weights; 0: none.",
        .values = {0, 4'000'000}, .unit = "ranks"),
    ORRERY_PLAN_FIELD(zero_quantized_weights, chunk,
        .meaning = "ZeRO 3 gathers weights as int8, in blocks with a scale each (ZeRO++'s qwZ)."),
    ORRERY_PLAN_FIELD(zero_quantized_gradients, chunk,
        .meaning = "ZeRO 3 exchanges gradients as int4, inside nodes and then between them "
                   "(ZeRO++'s qgZ)."),
    ORRERY_PLAN_FIELD(zero_quantized_gradients_uneven, chunk,
        .meaning = "zero_quantized_gradients: also of matrices whose elements twice the number of "
                   "ranks does not divide (DeepSpeed before 0.13.2)."),
    ORRERY_PLAN_FIELD(reshard_after_forward, chunk,
        .meaning = "ZeRO 3: weights are gathered again for the backward pass."),
    ORRERY_PLAN_FIELD(fsdp_unit_layers, chunk,
        .meaning = "ZeRO 3: layers that one collective gathers; 0: a layer at a time, each "
                   "parameter on its own.",
        .values = {0, 1'000'000}, .unit = "layers"),
    ORRERY_PLAN_FIELD(fsdp_prefetch_units, chunk,
        .meaning = "ZeRO 3 with overlap_param_gather: units gathered ahead of the one in use.",
        .values = {1, kPrefetchUnitsMax}, .unit = "units"),
    ORRERY_PLAN_FIELD(stage3_max_reuse_distance, chunk,
        .meaning = "ZeRO 3 with full recomputation: weights are freed and gathered again between "
                   "a product and its backward pass if this many elements are used meanwhile "
                   "(DeepSpeed's rule).",
        .values = {0, kReuseDistanceMax}, .unit = "elements"),
    ORRERY_PLAN_FIELD(micro_batch_size, pass,
        .use = FieldUse::required,
        .meaning = "Sequences that a rank computes at once.",
        .values = {1, 100'000'000}, .unit = "sequences", .short_name = "mbs", .searched = true,
        .flags = {"--micro-batch-size"}),
    ORRERY_PLAN_FIELD(global_batch_size, step,
        .use = FieldUse::required,
        .meaning = "Sequences of a training step, over all ranks.",
        .values = {1, 1'000'000'000}, .unit = "sequences", .short_name = "gbs",
        .flags = {"--global-batch-size"}),
    ORRERY_PLAN_FIELD(precision, pass,
        .meaning = "Type of the inputs of matrix products.",
        .values = kPrecisions,
        .translated_flags = {"--fp16", "--bf16", "--fp8-hybrid", "--fp8-format"}),
    ORRERY_PLAN_FIELD(recompute_granularity, pass,
        .meaning = "What the backward pass computes again: nothing, recompute_modules, or "
                   "whole layers.",
        .values = kRecomputes, .searched = true, .flags = {"--recompute-granularity"},
        .translated_flags = {"--recompute-activations"}),
    ORRERY_PLAN_FIELD(recompute_method, pass,
        .meaning = kMethodsMeaning, .values = kRecomputeMethods, .flags = {"--recompute-method"}),
    ORRERY_PLAN_FIELD(recompute_num_layers, pass,
        .meaning = "Number of layers that recompute_method uses.",
        .values = {1, 1'000'000}, .unit = "layers", .flags = {"--recompute-num-layers"}),
    ORRERY_PLAN_FIELD(recompute_modules, pass,
        .meaning = kModulesMeaning, .values = kRecomputeModules,
        .translated_flags = {"--recompute-modules"}),
    ORRERY_PLAN_FIELD(reentrant_checkpoint, pass,
        .meaning = "Full recomputation holds a layer's output and its gradient until the layer's "
                   "backward pass has ended."),
    ORRERY_PLAN_FIELD(checkpoint_early_stop, pass,
        .meaning = "Full recomputation leaves out a layer's last product, which nothing reads."),
    ORRERY_PLAN_FIELD(distribute_saved_activations, pass,
        .meaning = "Full recomputation: each tensor-parallel rank keeps its part of a layer's "
                   "input, and the backward pass gathers them.",
        .flags = {"--distribute-saved-activations"}),
    ORRERY_PLAN_FIELD(pipeline_flushes, step,
        .meaning = "Times that the pipeline fills and drains in a step, each with an equal share "
                   "of the micro-batches.",
        .values = {1, 1'000'000}),
    ORRERY_PLAN_FIELD(schedule, pass,
        .meaning = "Order of a pipeline's passes; with virtual stages interleaved_1f1b if "
                   "not given.",
        .values = kSchedules, .searched = true),
    ORRERY_PLAN_FIELD(rank_order, pass,
        .meaning = "Order in which ranks are dealt to groups, the fastest varying first.",
        .values = kRankOrders, .searched = true,
        .translated_flags = {"--use-tp-pp-dp-mapping"}),
};
// clang-format on

}  // namespace orrery
