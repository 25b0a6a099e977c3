// SPDX-License-Identifier: Apache-2.0
// The table of ParallelPlan's fields. From it follow the keys of the section `plan` with their
// reader and writer, `orrery keys plan`, the names of `search` and of its results, the columns of
// tables, and Megatron-LM's flags. Keys of caches follow from it, too: the key of a part of a plan
// is the plan with all fields reset that the part does not depend on.
//
// A new key needs a member of ParallelPlan with its default (models/plan/plan.h), a row here, its
// words, if it has any, in models/plan/plan_words.h, and its effect. A member without a row does
// not compile. Rules between keys are in models/plan/validate_plan.cpp. tests/fields demands a row
// that shows the effect.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "engine/base/field.h"
#include "engine/base/has_fields.h"
#include "models/plan/plan.h"
#include "models/plan/plan_field.h"
#include "models/plan/plan_words.h"

namespace orrery {

inline constexpr IntegerRange kPlanSizes{1, 4'000'000};

#define ORRERY_PLAN_FIELD(field, of, ...)                                                   \
    PlanField<decltype(ParallelPlan::field)> {                                              \
        .name = #field, .member = &ParallelPlan::field, .scope = PlanScope::of, __VA_ARGS__ \
    }

// clang-format off
inline constexpr FieldTable kPlanFields{
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
    ORRERY_PLAN_FIELD(schedule, pass,
        .meaning = "Order of a pipeline's passes; with virtual stages interleaved_1f1b if "
                   "not given.",
        .values = kSchedules, .searched = true),
    ORRERY_PLAN_FIELD(rank_order, pass,
        .meaning = "Order in which ranks are dealt to groups, the fastest varying first.",
        .values = kRankOrders, .searched = true,
        .translated_flags = {"--use-tp-pp-dp-mapping"}),
    ORRERY_PLAN_FIELD(attention_kernel, pass,
        .meaning = "Attention kernel of the software that runs the job.",
        .values = kAttentionKernels,
        .translated_flags = {"--use-flash-attn", "--attention-backend"}),
    ORRERY_PLAN_FIELD(attention_backward_buffers, pass,
        .meaning = "flash_2's backward pass sums gradients of queries in fp32, and makes those of "
                   "keys and values for each query head, in buffers of its own."),
    ORRERY_PLAN_FIELD(optimizer, pass,
        .meaning = "Optimizer.",
        .values = kOptimizers, .flags = {"--optimizer"}),
    ORRERY_PLAN_FIELD(fused_optimizer, chunk,
        .meaning = "The optimizer's step is one kernel; false: a kernel for each operator of its "
                   "formula."),
    ORRERY_PLAN_FIELD(optimizer_cpu_offload, chunk,
        .meaning = "Optimizer state lies in the host's memory, and the host steps the weights.",
        .flags = {"--optimizer-cpu-offload"}),
    ORRERY_PLAN_FIELD(activation_offload_fraction, pass,
        .meaning = "Full recomputation: share of the kept layer inputs that lie in the host's "
                   "memory until the backward pass.",
        .values = {0, 1}),
    ORRERY_PLAN_FIELD(activation_offload_blocking, pass,
        .meaning = "The device waits for each layer input that it sends to the host's memory."),
    ORRERY_PLAN_FIELD(cpu_offloading_num_layers, pass,
        .meaning = "Layers, from the first, whose activations lie in the host's memory until their "
                   "backward pass.",
        .values = {0, 1'000'000}, .flags = {"--cpu-offloading-num-layers"}),
    ORRERY_PLAN_FIELD(mlp_tile_tokens, pass,
        .meaning = "Tokens of a rank that pass the MLP at a time; each tile runs again in the "
                   "backward pass; 0: all.",
        .values = {0, 1'000'000'000}, .unit = "tokens"),
    ORRERY_PLAN_FIELD(loss_tile_tokens, pass,
        .meaning = "Tokens of a rank that pass the output layer and the loss at a time; 0: all.",
        .values = {0, 1'000'000'000}, .unit = "tokens"),
    ORRERY_PLAN_FIELD(optimizer_offload_tier, chunk,
        .meaning = "Where state lies with optimizer_cpu_offload: the host's memory or a file on "
                   "its drives.",
        .values = kOffloadTiers),
    ORRERY_PLAN_FIELD(optimizer_offload_fraction, chunk,
        .meaning = "With optimizer_cpu_offload, share of the parameters that the host steps; the "
                   "device steps the others.",
        .values = {0, 1}, .flags = {"--optimizer-offload-fraction"}),
    ORRERY_PLAN_FIELD(delayed_param_update, chunk,
        .meaning = "With optimizer_cpu_offload, the host steps beside the next step's passes, "
                   "which work with weights that are a step older."),
    ORRERY_PLAN_FIELD(param_offload_tier, chunk,
        .meaning = "Where weights lie between their uses: on the device, in the host's memory, or "
                   "in a file on its drives.",
        .values = kStateTiers),
    ORRERY_PLAN_FIELD(param_offload_fraction, chunk,
        .meaning = "Share of the layers whose weights param_offload_tier is for.",
        .values = {0, 1}),
    ORRERY_PLAN_FIELD(grad_offload_tier, chunk,
        .meaning = "Where a pass leaves the gradients that it makes: on the device, in the host's "
                   "memory, or in a file on its drives.",
        .values = kStateTiers),
    ORRERY_PLAN_FIELD(offload_fp32_weights, chunk,
        .meaning = "With optimizer_cpu_offload, new weights leave the host in fp32, and the "
                   "device rounds them."),
    ORRERY_PLAN_FIELD(gradient_accumulation_fusion, pass,
        .meaning = "The product for a weight's gradient adds into the accumulated gradient itself.",
        .flags = {"--no-gradient-accumulation-fusion"}),
    ORRERY_PLAN_FIELD(clear_lp_grads, pass,
        .meaning = "Without gradient_accumulation_fusion: the 16-bit gradient that a pass makes is "
                   "freed when its fp32 sum has it; false: it stays until the next backward "
                   "pass, and is cast before it is added."),
    ORRERY_PLAN_FIELD(zero_lp_grads, pass,
        .meaning = "With clear_lp_grads false: 16-bit gradients are set to zero before a backward "
                   "pass, which adds to them."),
    ORRERY_PLAN_FIELD(gradient_dtype, pass,
        .meaning = "Type in which gradients are accumulated and reduced.",
        .values = kGradientDtypes,
        .translated_flags = {"--accumulate-allreduce-grads-in-fp32",
                             "--grad-reduce-in-bf16"}),
    ORRERY_PLAN_FIELD(grad_reduce_dtype, pass,
        .meaning = "A shorter type in which gradients are reduced: they are cast before and after "
                   "(DeepSpeed's communication_data_type).",
        .values = kGradientDtypes),
    ORRERY_PLAN_FIELD(main_params_dtype, pass,
        .meaning = "What the optimizer steps: an fp32 copy of the weights, or the bf16 "
                   "weights themselves.",
        .values = kMainParamsDtypes),
    ORRERY_PLAN_FIELD(bf16_stochastic_round, pass,
        .meaning = "bf16 weights are rounded up with the probability of the discarded part."),
    ORRERY_PLAN_FIELD(overlap_grad_reduce, chunk,
        .meaning = "Gradients are reduced beside the backward pass.",
        .searched = true, .flags = {"--overlap-grad-reduce"}),
    ORRERY_PLAN_FIELD(overlap_param_gather, chunk,
        .meaning = "Sharded weights are gathered beside the forward pass.",
        .searched = true, .flags = {"--overlap-param-gather"}),
    ORRERY_PLAN_FIELD(overlap_param_gather_with_optimizer_step, chunk,
        .meaning = "The first chunk's weights are gathered while the optimizer steps the others.",
        .flags = {"--overlap-param-gather-with-optimizer-step"}),
    ORRERY_PLAN_FIELD(tp_comm_overlap, pass,
        .meaning = "Tensor-parallel communication runs beside the matrix products, in chunks.",
        .searched = true, .flags = {"--tp-comm-overlap"}),
    ORRERY_PLAN_FIELD(overlap_p2p, step,
        .meaning = "Messages between stages run beside the passes.",
        .searched = true, .translated_flags = {"--no-overlap-p2p-communication"}),
    ORRERY_PLAN_FIELD(async_tensor_model_parallel_allreduce, pass,
        .meaning = "Column-parallel layers communicate beside their backward products.",
        .flags = {"--no-async-tensor-model-parallel-allreduce"}),
    ORRERY_PLAN_FIELD(scatter_gather_tensors_in_pipeline, pass,
        .meaning = "Stages send 1/tp of a replicated activation and gather it behind the message.",
        .flags = {"--no-scatter-gather-tensors-in-pipeline"}),
    ORRERY_PLAN_FIELD(tp_comm_overlap_chunks, pass,
        .meaning = "Chunks of tp_comm_overlap.",
        .values = {1, kTpCommOverlapChunksMax}, .unit = "chunks"),
    ORRERY_PLAN_FIELD(fused_norm, pass,
        .meaning = "Norms are fused with their neighbours: residual, bias, dropout.",
        .flags = {"--no-persist-layer-norm"}),
    ORRERY_PLAN_FIELD(fused_activation, pass,
        .meaning = "Bias and activation are one kernel, or part of the product.",
        .flags = {"--no-bias-gelu-fusion", "--no-bias-swiglu-fusion"}),
    ORRERY_PLAN_FIELD(activation_func_fp8_input_store, pass,
        .meaning = "Inputs of gated activations are kept in FP8 for the backward pass."),
    ORRERY_PLAN_FIELD(fused_cross_entropy, pass,
        .meaning = "The loss turns the logits into their gradient in place.",
        .flags = {"--cross-entropy-loss-fusion"}),
    ORRERY_PLAN_FIELD(loss_in_place, pass,
        .meaning = "The unfused loss works in one fp32 buffer; false: each of its steps has one "
                   "of its own."),
    ORRERY_PLAN_FIELD(loss_copies, pass,
        .meaning = "fp32 copies of the logits that the forward pass of the unfused loss makes "
                   "and drops.",
        .values = {0, 8}, .unit = "copies"),
    ORRERY_PLAN_FIELD(kept_logits, pass,
        .meaning = "Micro-batches whose logits the last stage keeps until a later forward pass "
                   "takes their place.",
        .values = {0, 8}, .unit = "micro-batches"),
    ORRERY_PLAN_FIELD(eager_norm, pass,
        .meaning = "Norms are chains of framework ops on an fp32 copy, which the backward pass "
                   "reads."),
    ORRERY_PLAN_FIELD(norm_32_bit_offsets, pass,
        .meaning = "Norms find rows by 32-bit offsets, which end at 2^31 elements of a rank."),
    ORRERY_PLAN_FIELD(eager_activation, pass,
        .meaning = "A GELU is the chain of framework ops of its tanh formula."),
    ORRERY_PLAN_FIELD(autocast, pass,
        .meaning = "Each pass casts fp32 weights before its products and their gradients behind "
                   "them; norms, residuals and unfused softmax are fp32."),
    ORRERY_PLAN_FIELD(fused_projections, pass,
        .meaning = "Q, K and V are one product, gate and up another; false: each is one of its "
                   "own."),
    ORRERY_PLAN_FIELD(eager_rope, pass,
        .meaning = "The rotary embedding is a chain of framework ops on fp32 copies of Q and K."),
    ORRERY_PLAN_FIELD(loss_metrics, pass,
        .meaning = "Losses that are computed once more, unfused, for reports.",
        .values = {0, 100}, .unit = "losses"),
    ORRERY_PLAN_FIELD(eager_framework, pass,
        .meaning = "Every op is a call of an eager framework; false: ops are launched from C++."),
    ORRERY_PLAN_FIELD(lazy_module_loading, pass,
        .meaning = "CUDA loads a kernel at its first launch; false: all, at a process's start."),
    ORRERY_PLAN_FIELD(cuda_launch_blocking, pass,
        .meaning = "The host waits for each op before it launches the next one "
                   "(CUDA_LAUNCH_BLOCKING=1)."),
    ORRERY_PLAN_FIELD(cuda_graphs, pass,
        .meaning = "Ops are launched by CUDA graphs.",
        .flags = {"--enable-cuda-graph", "--external-cuda-graph"},
        .translated_flags = {"--cuda-graph-impl"}),
    ORRERY_PLAN_FIELD(cuda_graph_scope, pass,
        .meaning = "Parts of each layer that a CUDA graph launches; an eager framework calls the "
                   "rest.",
        .values = kCudaGraphParts),
    ORRERY_PLAN_FIELD(compiled, pass,
        .meaning = "A compiler (torch.compile, XLA) fuses chains of elementwise ops."),
    ORRERY_PLAN_FIELD(embedding_and_loss_as_layers, step,
        .meaning = "Embedding and loss count as a layer each where layers are split into stages.",
        .searched = true,
        .translated_flags = {"--account-for-embedding-in-pipeline-split",
                             "--account-for-loss-in-pipeline-split"}),
    ORRERY_PLAN_FIELD(deallocate_pipeline_outputs, pass,
        .meaning = "A stage frees its output once it is sent; false: after its backward pass."),
    ORRERY_PLAN_FIELD(pipeline_engine_groups, step,
        .meaning = "DeepSpeed's pipeline engine: replicas and pairs of stages have communicators."),
    ORRERY_PLAN_FIELD(prefetch_behind_backward, chunk,
        .meaning = "ZeRO 3: the next unit is gathered behind a unit's backward pass, not "
                   "beside it."),
    ORRERY_PLAN_FIELD(ddp_bucket_size, chunk,
        .meaning = "Elements of gradients that one collective reduces; 0: Megatron-LM's default.",
        .values = {0, 1'000'000'000'000}, .unit = "elements", .flags = {"--ddp-bucket-size"}),
    ORRERY_PLAN_FIELD(pipeline_layout, step,
        .meaning = "Layers of each virtual stage, the stages of the first chunk first; "
                   "empty: evenly.",
        .values = {0, 100'000}, .unit = "layers", .searched = true),
    ORRERY_PLAN_FIELD(expert_model_parallel_size, pass,
        .meaning = "Ranks that share the experts of a layer between them.",
        .values = kPlanSizes, .unit = "ranks", .short_name = "ep", .searched = true,
        .flags = {"--expert-model-parallel-size"}),
    ORRERY_PLAN_FIELD(expert_tensor_parallel_size, pass,
        .meaning = "Ranks that split the weight matrices of each expert between them; 0: as "
                   "tensor_model_parallel_size.",
        .values = {0, 4'000'000}, .unit = "ranks", .short_name = "etp", .searched = true,
        .flags = {"--expert-tensor-parallel-size"}),
    ORRERY_PLAN_FIELD(moe_token_dispatcher_type, pass,
        .meaning = "What takes tokens to their experts: NCCL's all-to-all, an all-gather of all "
                   "tokens, or a library of its own.",
        .values = kTokenDispatchers, .searched = true,
        .flags = {"--moe-token-dispatcher-type", "--moe-flex-dispatcher-backend"}),
    ORRERY_PLAN_FIELD(moe_dispatch_dtype, pass,
        .meaning = "Type in which tokens are sent to their experts; they come back in 16 bits.",
        .values = kDispatchDtypes),
    ORRERY_PLAN_FIELD(moe_dispatcher_sms, pass,
        .meaning = "SMs that deepep or hybridep hold; 0: as many as they take by default.",
        .values = {0, 1024}, .unit = "SMs",
        .flags = {"--moe-deepep-num-sms", "--moe-hybridep-num-sms"}),
    ORRERY_PLAN_FIELD(overlap_moe_expert_parallel_comm, pass,
        .meaning = "The forward pass of one micro-batch runs beside the backward pass of another.",
        .flags = {"--overlap-moe-expert-parallel-comm"}),
    ORRERY_PLAN_FIELD(delay_wgrad_compute, pass,
        .meaning = "Gradients of weights are made after the exchange of tokens has been started.",
        .flags = {"--delay-wgrad-compute"}),
    ORRERY_PLAN_FIELD(moe_expert_capacity_factor, pass,
        .meaning = "An expert takes at most this many times the mean number of tokens, others "
                   "are dropped; 0: all are taken.",
        .values = {0, 1000}, .flags = {"--moe-expert-capacity-factor"}),
    ORRERY_PLAN_FIELD(moe_pad_expert_input_to_capacity, pass,
        .meaning = "Each expert is filled up to its capacity. No counts travel, and the host reads "
                   "none.",
        .flags = {"--moe-pad-expert-input-to-capacity"}),
    ORRERY_PLAN_FIELD(moe_expert_placement, pass,
        .meaning = "Which experts a rank has: consecutive ones, or likely and unlikely ones "
                   "together.",
        .values = kExpertPlacements),
    ORRERY_PLAN_FIELD(moe_lsh_compression_rate, pass,
        .meaning = "Share of the rows that travel to experts after rows with the same hashes have "
                   "become one; 1: all, and nothing is hashed.",
        .values = {0.001, 1}),
    ORRERY_PLAN_FIELD(moe_pipeline_degree, pass,
        .meaning = "Parts in which a layer's rows are sent to experts, worked on and sent back.",
        .values = {1, 64}, .unit = "parts"),
    ORRERY_PLAN_FIELD(moe_mask_products, pass,
        .meaning = "Rows are gathered and put back by products with masks of tokens and places of "
                   "experts, as in GShard and DeepSpeed-MoE."),
    ORRERY_PLAN_FIELD(moe_tile_overlap, pass,
        .meaning = "Products of experts multiply tiles of rows as they arrive, and tiles are sent "
                   "as they are made (COMET)."),
    ORRERY_PLAN_FIELD(moe_permute_fusion, pass,
        .meaning = "One kernel each moves rows into another order and sums the rows of a token; "
                   "false: operators of PyTorch do."),
    ORRERY_PLAN_FIELD(moe_fused_bias, pass,
        .meaning = "The weighed bias of experts is part of their second product."),
    ORRERY_PLAN_FIELD(moe_fused_activation, pass,
        .meaning = "The experts' activation and its casts to MXFP8 are part of their products."),
    ORRERY_PLAN_FIELD(moe_fused_kernels, pass,
        .meaning = "One kernel each chooses experts, counts their tokens and moves rows, as in "
                   "Orrery's own runtime; false: as in Megatron-Core."),
    ORRERY_PLAN_FIELD(moe_router_fusion, pass,
        .meaning = "One kernel each scores and chooses experts, and makes the loss that balances "
                   "them.",
        .flags = {"--moe-router-fusion"}),
    ORRERY_PLAN_FIELD(moe_shared_expert_overlap, pass,
        .meaning = "The shared expert works while tokens travel to the other experts.",
        .flags = {"--moe-shared-expert-overlap"}),
    ORRERY_PLAN_FIELD(moe_router_load, pass,
        .meaning = "Experts that tokens are sent to: equally many to each, drawn uniformly, drawn "
                   "by Zipf's law, drawn so and balanced by a bias, one hot expert of each layer, "
                   "or as counted.",
        .values = kRouterLoads, .translated_flags = {"--moe-router-force-load-balancing"}),
    ORRERY_PLAN_FIELD(moe_router_load_alpha, pass,
        .meaning = "Exponent of Zipf's law with moe_router_load zipf or bias_balanced; with hot, "
                   "the hot expert's tokens over the mean.",
        .values = {0, 1000}),
    ORRERY_PLAN_FIELD(moe_router_load_trace, pass,
        .meaning = "With moe_router_load trace, tokens of each expert, or of each expert of each "
                   "layer, or that of each micro-batch.",
        .values = {0, 1'000'000'000'000}, .unit = "tokens"),
    ORRERY_PLAN_FIELD(moe_router_load_seed, pass,
        .meaning = "Seed of the drawn loads of experts.",
        .values = {0, 1'000'000'000}),
    ORRERY_PLAN_FIELD(moments_dtype, chunk,
        .meaning = "Type of the optimizer's two moments.",
        .values = kMainParamsDtypes, .flags = {"--exp-avg-dtype", "--exp-avg-sq-dtype"}),
    ORRERY_PLAN_FIELD(fp8_recipe, pass,
        .meaning = "Where the scales of FP8 values come from: earlier steps, the tensor, each "
                   "row and column, or blocks of 32.",
        .values = kFp8Recipes, .flags = {"--fp8-recipe"}),
    ORRERY_PLAN_FIELD(fp8_param_gather, chunk,
        .meaning = "Sharded weights of layers are gathered in FP8.",
        .flags = {"--fp8-param-gather"}),
    ORRERY_PLAN_FIELD(fp8_saved_inputs, pass,
        .meaning = "FP8 products keep the FP8 copies of their inputs for the backward pass; false: "
                   "the inputs in 16 bits."),
    ORRERY_PLAN_FIELD(fp8_dot_product_attention, pass,
        .meaning = "The products of attention are in FP8, too.",
        .flags = {"--fp8-dot-product-attention"}),
    ORRERY_PLAN_FIELD(vocabulary_parallel, pass,
        .meaning = "Each pipeline stage has a part of the input embedding, of the output layer "
                   "and of the loss."),
    ORRERY_PLAN_FIELD(reduce_scatter, chunk,
        .meaning = "ZeRO 1: gradients are reduced to the ranks that step them; false: to all "
                   "ranks."),
    ORRERY_PLAN_FIELD(reduce_every_micro_batch, chunk,
        .meaning = "ZeRO 2: each backward pass reduces its gradients to the ranks that step them; "
                   "false: whole gradients add up and are reduced once a step."),
    ORRERY_PLAN_FIELD(zero_whole_parameters, chunk,
        .meaning = "ZeRO 1 and 2: each parameter has one owner, which broadcasts it; false: ranks "
                   "gather equal parts."),
    ORRERY_PLAN_FIELD(zero_copies_parts, chunk,
        .meaning = "ZeRO 1 and 2: the parts of gathered parameters are copied one by one."),
    ORRERY_PLAN_FIELD(gradient_bucket_copies, chunk,
        .meaning = "Gradients are copied into the buffer of their reduction and, but for ZeRO 3, "
                   "back."),
    ORRERY_PLAN_FIELD(reduce_bucket_size, pass,
        .meaning = "ZeRO 3: gradient_bucket_copies copies into a bucket of this size; 0: a unit's.",
        .values = {0, 1'000'000'000'000}, .unit = "elements"),
    ORRERY_PLAN_FIELD(fsdp_copy_out, chunk,
        .meaning = "ZeRO 3: gathered weights are copied from the collective's buffer into the "
                   "parameters. With fsdp_unit_layers 0, each rank's part on its own."),
};
// clang-format on
#undef ORRERY_PLAN_FIELD

// The row of a field: plan_field<&ParallelPlan::schedule>.
template <auto kMember>
inline constexpr const auto& plan_field = kRowOf<kPlanFields, kMember>;

inline constexpr std::size_t kNumPlanFields = decltype(kPlanFields)::kSize;

// Calls `visit(field)` for each PlanField.
template <class Visit>
constexpr void for_each_plan_field(Visit visit) {
    kPlanFields.each(visit);
}

constexpr bool plan_fields_differ() {
    std::array<std::string_view, kNumPlanFields> names{};
    std::size_t known = 0;
    bool differ = true;
    for_each_plan_field([&](const auto& field) {
        for (std::size_t i = 0; i < known; ++i) {
            differ = differ && names[i] != field.name;
        }
        names[known++] = field.name;
    });
    return differ;
}
static_assert(has_fields<ParallelPlan, kNumPlanFields>(), "a field of ParallelPlan has no row");
static_assert(plan_fields_differ(), "a field of ParallelPlan has two rows");

// The plan with all fields of a wider scope than `scope` at their defaults.
inline ParallelPlan within(ParallelPlan plan, PlanScope scope) {
    const ParallelPlan defaults;
    for_each_plan_field([&](const auto& field) {
        if (field.scope > scope) {
            plan.*field.member = defaults.*field.member;
        }
    });
    return plan;
}

}  // namespace orrery
