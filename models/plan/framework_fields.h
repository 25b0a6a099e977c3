// SPDX-License-Identifier: Apache-2.0
// Rows of the table of ParallelPlan's fields (models/plan/plan_fields.h): kernels, optimizer,
// offload, and what the framework does around them.
#pragma once

#include "models/plan/plan_field.h"
#include "models/plan/plan_words.h"

namespace orrery {

// clang-format off
inline constexpr FieldTable kPlanFrameworkFields{
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
    ORRERY_PLAN_FIELD(dense_embedding_gradient, pass,
        .meaning = "A backward pass makes a gradient of the whole input embedding, which is then "
                   "added to the accumulated one; false: it adds the rows of its tokens."),
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
        .meaning = "Column-parallel layers communicate beside their backward products, and gather "
                   "their inputs again for them; false: they wait, and keep what was gathered.",
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
    ORRERY_PLAN_FIELD(eager_attention, pass,
        .meaning = "Unfused attention makes its mask anew in each call, copies its heads and "
                   "scales gradients, all by framework ops."),
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
    ORRERY_PLAN_FIELD(compiled_loss, pass,
        .meaning = "compiled: the compiler fuses the loss, too; false: only the layers."),
    ORRERY_PLAN_FIELD(embedding_and_loss_as_layers, step,
        .meaning = "Embedding and loss count as a layer each where layers are split into stages.",
        .searched = true,
        .translated_flags = {"--account-for-embedding-in-pipeline-split",
                             "--account-for-loss-in-pipeline-split"}),
    ORRERY_PLAN_FIELD(deallocate_pipeline_outputs, pass,
        .meaning = "A stage frees its output once it is sent; false: after its backward pass."),
    ORRERY_PLAN_FIELD(partition_pipeline_outputs, pass,
        .meaning = "With deallocate_pipeline_outputs false: tensor-parallel ranks keep a part of "
                   "a stage's output each, and gather it before the backward pass."),
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
};
// clang-format on

}  // namespace orrery
