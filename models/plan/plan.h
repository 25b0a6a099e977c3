// SPDX-License-Identifier: Apache-2.0
// The parallel plan: how ranks share a training step. Names and meanings are Megatron-LM's.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/kernel_call.h"
#include "models/plan/plan_choices.h"
#include "models/plan/recompute_choices.h"
#include "models/plan/sharding_strategy.h"

namespace orrery {

struct ParallelPlan {
    std::int64_t tensor_model_parallel_size = 1;
    std::int64_t pipeline_model_parallel_size = 1;
    // The tensor-parallel size of each pipeline stage, if the sizes differ (some stages have slower
    // or smaller devices). tensor_model_parallel_size is then the largest of them. Empty: all
    // stages have the same size.
    std::vector<std::int64_t> stage_tensor_model_parallel_sizes{};
    std::int64_t virtual_pipeline_model_parallel_size = 1;  // model chunks on each pipeline rank
    std::int64_t context_parallel_size = 1;
    std::int64_t data_parallel_size = 1;  // derived from the number of GPUs; it has no key
    bool sequence_parallel = false;
    ContextParallelComm context_parallel_comm = ContextParallelComm::ring;
    // Before attention each key-value head is copied for every query head that shares it
    // (torchtitan's repeat_kv), so that ranks of a sequence exchange the copies.
    bool repeat_key_value_heads = false;
    // Ranks of a sequence exchange and sum the gradients of keys and values in fp32 (PyTorch's
    // context_parallel, convert_to_f32).
    bool context_parallel_fp32_gradients = false;
    ShardingStrategy data_parallel_sharding_strategy = ShardingStrategy::no_shard;
    // > 0: shards inside groups of this number of ranks, copies between the groups
    std::int64_t hsdp_shard_size = 0;
    // > 1, with ZeRO 3: a forward pass leaves a secondary copy of the weights in each group of this
    // many data-parallel ranks, and the backward pass gathers from it (DeepSpeed's name; hpZ of
    // ZeRO++, Wang et al. 2023, section 3.2).
    std::int64_t zero_hpz_partition_size = 0;
    // ZeRO 3: weights are gathered as int8 (DeepSpeed's name; qwZ of ZeRO++, section 3.1).
    bool zero_quantized_weights = false;
    // ZeRO 3: gradients are exchanged as int4, inside nodes and then between them (DeepSpeed's
    // name; qgZ of ZeRO++, section 3.3).
    bool zero_quantized_gradients = false;
    // With zero_quantized_gradients: also of matrices whose elements twice the number of ranks does
    // not divide. DeepSpeed sends these as they are since 0.13.2 (pull request 5056).
    bool zero_quantized_gradients_uneven = false;
    // ZeRO 3: weights are gathered again for the backward pass. false: the weights that the forward
    // pass gathered stay until then (the argument of PyTorch's fully_shard).
    bool reshard_after_forward = true;
    // ZeRO 3: the number of layers in a unit, whose weights are gathered by one collective and
    // freed together (a unit of PyTorch's fully_shard). 0: a unit is a layer, and each parameter
    // has a collective of its own.
    std::int64_t fsdp_unit_layers = 1;
    // ZeRO 3 with overlap_param_gather: the number of units gathered ahead of the one in use.
    std::int64_t fsdp_prefetch_units = 1;
    // ZeRO 3 with full recomputation: between a product that runs again and its backward pass, its
    // weights are freed if this many elements of parameters or more are used meanwhile. They are
    // then gathered a second time (DeepSpeed's name and rule).
    std::int64_t stage3_max_reuse_distance = kReuseDistanceMax;
    std::int64_t micro_batch_size = 1;
    std::int64_t global_batch_size = 1;
    Dtype precision = Dtype::bf16;  // of GEMM inputs: fp32, fp16, bf16 or fp8
    Recompute recompute_granularity = Recompute::none;
    RecomputeMethod recompute_method = RecomputeMethod::uniform;
    std::int64_t recompute_num_layers = 1;
    std::uint32_t recompute_modules = static_cast<std::uint32_t>(RecomputeModule::core_attn);
    // Full recomputation: the layer's output, computed again, and its gradient live until the
    // layer's backward pass has ended, as locals of CheckpointFunction.backward()
    // (torch/utils/checkpoint.py with use_reentrant). false: until their last use.
    bool reentrant_checkpoint = false;
    // Full recomputation ends with the last tensor that the backward pass reads, so that a layer's
    // last product does not run again (PyTorch's set_checkpoint_early_stop, since 2.1 the default
    // without use_reentrant; XLA, which removes what nothing reads).
    bool checkpoint_early_stop = false;
    // Full recomputation: each tensor-parallel rank keeps its part of a layer's input, and the
    // backward pass gathers the parts (Megatron-LM's option of this name, DeepSpeed's
    // partition_activations).
    bool distribute_saved_activations = false;
    ScheduleKind schedule = ScheduleKind::one_f_one_b;
    // The pipeline fills and drains this many times in a step, each time with an equal share of the
    // micro-batches (gradient accumulation around a schedule, as NeMo AutoModel's).
    std::int64_t pipeline_flushes = 1;
    RankOrder rank_order = RankOrder::tp_cp_dp_pp;
    AttentionKernel attention_kernel = AttentionKernel::flash_2;
    // The backward pass of FlashAttention 2 has buffers of its own: an fp32 sum of the gradients of
    // queries and, where query heads share keys and values, their gradients for each query head
    // (flash-attention, csrc/flash_attn/flash_api.cpp: dq_accum, dk_expanded, dv_expanded). false:
    // they are not counted.
    bool attention_backward_buffers = false;
    Optimizer optimizer = Optimizer::adam;
    // The host's processors step the weights. Their optimizer state lies in host memory, gradients
    // are copied to the host, and new weights back (Ren et al., ZeRO-Offload, USENIX ATC 2021).
    bool optimizer_cpu_offload = false;
    // Full recomputation: the share of the kept inputs that lies in the host's memory until the
    // backward pass (DeepSpeed's cpu_checkpointing; Bekman et al., arXiv 2506.13996).
    double activation_offload_fraction = 0;
    // The device waits until the copy of each of these inputs to the host has ended, as it does if
    // the host's memory is not pinned (DeepSpeed's cpu_checkpointing, which allocates it anew in
    // each step).
    bool activation_offload_blocking = false;
    // What the backward pass reads of the first layers lies in the host's memory until the pass
    // comes to the layer before (Megatron-Core's option of this name, Transformer Engine's
    // get_cpu_offload_context()).
    std::int64_t cpu_offloading_num_layers = 0;
    // > 0: a rank's tokens pass the MLP, or the output layer and the loss, in equal tiles of at
    // most this many tokens. Each tile runs again in the backward pass (DeepSpeed's TiledMLP and
    // SequenceTiledCompute; Bekman et al., section 3.1).
    std::int64_t mlp_tile_tokens = 0;
    std::int64_t loss_tile_tokens = 0;
    // The place of the state with optimizer_cpu_offload. A file is read and written in windows:
    // while the host steps one window, the next one is read (Rajbhandari et al., ZeRO-Infinity, SC
    // 2021, section 5.2.2).
    OffloadTier optimizer_offload_tier = OffloadTier::host;
    // With optimizer_cpu_offload: the share of the parameters that the host steps. The device steps
    // the others (Megatron-LM's option of this name; DeepSpeed's twin-flow).
    double optimizer_offload_fraction = 1;
    // With optimizer_cpu_offload: the host steps while the device computes the next step's
    // gradients. Gradients are then made with weights that are one step old (ZeRO-Offload, section
    // 5.2).
    bool delayed_param_update = false;
    // The place of weights between their uses, for this share of the layers, and the place of
    // gradients after the pass that made them (ZeRO-Infinity, section 5).
    StateTier param_offload_tier = StateTier::device;
    double param_offload_fraction = 1;
    StateTier grad_offload_tier = StateTier::device;
    // With optimizer_cpu_offload: the host's fp32 copy of new weights travels, and the device
    // rounds it (DeepSpeed's csrc/adam/cpu_adam.cpp until May 2024).
    bool offload_fp32_weights = false;
    bool gradient_accumulation_fusion = true;  // the weight-gradient GEMM adds to main_grad
    // Without fusion: the 16-bit gradient of a pass is freed when its fp32 sum has it. false: it
    // lives on until the next backward pass, and is cast to fp32 by a kernel of its own before it
    // is added (DeepSpeed's BF16_Optimizer.update_hp_grads).
    bool clear_lp_grads = true;
    // With clear_lp_grads false: the gradient is set to zero before a backward pass, which adds to
    // it (BF16_Optimizer.clear_lp_grads since DeepSpeed 0.12). false: the pass makes a new one.
    bool zero_lp_grads = false;
    // A backward pass makes a gradient of the whole input embedding: zeros to which rows are added,
    // and a sum with the accumulated gradient (PyTorch's embedding_dense_backward). false: rows are
    // added to the accumulated gradient.
    bool dense_embedding_gradient = false;
    Dtype gradient_dtype = Dtype::fp32;  // of main_grad and of its reduction
    // A shorter type for the reduction alone (DeepSpeed's communication_data_type): gradients are
    // cast to it before, and back to gradient_dtype afterwards.
    Dtype grad_reduce_dtype = Dtype::fp32;
    // The type of the weights that the optimizer steps: fp32 is a copy, bf16 is the weights
    // themselves. Megatron-LM's option of this name has no bf16.
    Dtype main_params_dtype = Dtype::fp32;
    // The optimizer rounds new bf16 weights up with a probability equal to the discarded fraction
    // (torchao's name).
    bool bf16_stochastic_round = false;
    bool overlap_grad_reduce = false;
    bool overlap_param_gather = false;
    // The first chunk's weights are gathered while the optimizer steps the other chunks. The next
    // step may begin before all gathers have ended.
    bool overlap_param_gather_with_optimizer_step = false;
    bool tp_comm_overlap = false;
    bool overlap_p2p = false;
    // Backward pass of column-parallel products: x is gathered during the dX product, and dX is
    // reduced during the dW product. false: gathered x is kept, and compute waits for both.
    bool async_tensor_model_parallel_allreduce = true;
    // Stages send 1/tp of a replicated activation, and the receivers gather it (Narayanan et al.,
    // SC21, section 4.1). It has no effect with sequence parallelism, where the activation is split
    // anyway.
    bool scatter_gather_tensors_in_pipeline = true;
    std::int64_t tp_comm_overlap_chunks = 4;
    bool fused_norm = true;        // norm kernels fused (residual + norm, bias + dropout + add)
    bool fused_activation = true;  // bias + activation in one kernel or GEMM epilogue
    // Inputs of gated activations are kept in FP8 for the backward pass, which casts them back
    // (Megatron-Core's option of this name; DeepSeek-V3, arXiv:2412.19437, section 3.3.3).
    bool activation_func_fp8_input_store = false;
    bool fused_cross_entropy = true;  // the gradient overwrites the logits
    // The unfused loss uses one fp32 buffer of the size of the logits, like Megatron-LM's. false:
    // it uses four, for the copy of the logits, their log-softmax and both gradients (PyTorch's
    // cross_entropy of float() logits).
    bool loss_in_place = true;
    // fp32 copies of the logits that the forward pass of the unfused loss makes before the one that
    // it keeps. Megatron-LM of 2022 to 2024 subtracts their maximum into a copy.
    std::int64_t loss_copies = 0;
    // Micro-batches whose logits the last stage keeps until a later forward pass takes their place:
    // the buffers of DeepSpeed's pipeline engine (pipe/engine.py, pipe_buffers['outputs']). Logits
    // are in fp32 there, unless the loss is fused.
    std::int64_t kept_logits = 0;
    // A norm is a chain of framework ops on an fp32 copy of its input, and the backward pass reads
    // that copy (Hugging Face's LlamaRMSNorm). false: one kernel.
    bool eager_norm = false;
    // A norm's kernel finds a token's row by a 32-bit offset, as Liger's did until July 2025
    // (Liger-Kernel, issue 803 and pull request 804): a rank has at most 2^31 elements.
    bool norm_32_bit_offsets = false;
    // A GELU is the chain of framework ops of its tanh formula. false: one kernel.
    bool eager_activation = false;
    // PyTorch's autocast: the weights are fp32, and each pass casts them before its products, and
    // their gradients behind them. Norms, the residual stream and the softmax of unfused attention
    // are fp32, too.
    bool autocast = false;
    // Q, K and V are one product, and so are gate and up. false: each is a product of its own, and
    // the gradients of their common input are added (Hugging Face's and torchtitan's Llama).
    bool fused_projections = true;
    // The rotary embedding is a chain of framework ops. They work on fp32 copies of Q and K
    // (torchtitan's apply_rotary_emb), or move the same number of bytes in 16 bits (Hugging Face's
    // rotate_half). false: one kernel.
    bool eager_rope = false;
    // The optimizer's step is one kernel (Apex, PyTorch's fused AdamW). false: each operator of its
    // formula is a kernel (PyTorch's foreach AdamW, its default).
    bool fused_optimizer = true;
    // Unfused attention has operators of a framework around its kernels: each call makes its causal
    // mask and puts its heads in order by a copy, and the backward pass scales the gradients of
    // queries and keys (Transformer Engine's UnfusedDotProductAttention). false: the mask is given,
    // and the products scale and place what they write.
    bool eager_attention = false;
    std::int64_t loss_metrics = 0;  // losses that are computed again, unfused, for reports
    // Each op is a call of an eager framework (PyTorch) unless it is compiled or in a graph. The
    // host time of such a call is many times that of a launch
    // (scenarios/studies/simulate/step_efficiency.h). false: ops are launched from C++.
    bool eager_framework = true;
    // CUDA loads a kernel at its first launch, as PyTorch has it since 1.13 (pull request 86509).
    // false: a process loads all kernels into its context.
    bool lazy_module_loading = true;
    // The host waits for each op before it goes on (the environment variable
    // CUDA_LAUNCH_BLOCKING=1): its work between two ops is not hidden.
    bool cuda_launch_blocking = false;
    bool cuda_graphs = false;
    // Bits of CudaGraphPart: the parts of each layer that graphs capture. The other ops are calls.
    std::uint32_t cuda_graph_scope = 0;
    bool compiled = false;  // a compiler fuses elementwise chains (torch.compile, XLA)
    // compiled: the loss, too, so that it is fused. false: only the layers are compiled.
    bool compiled_loss = true;
    // Embedding and output layer each take a layer's place in the pipeline split
    bool embedding_and_loss_as_layers = false;
    // A stage frees its output when it is sent (Megatron-LM's deallocate_output_tensor). false: the
    // output lives until its backward pass ends (DeepSpeed's PipelineEngine).
    bool deallocate_pipeline_outputs = true;
    // With deallocate_pipeline_outputs false: tensor-parallel ranks keep the part of an output that
    // they send, and gather it before its backward pass (DeepSpeed's pipe/engine.py,
    // is_pipe_partitioned).
    bool partition_pipeline_outputs = false;
    // Process groups that DeepSpeed's pipeline engine makes beside those of the plan's axes
    // (pipe/topology.py, PipelineParallelGrid): all ranks of a replica, its tensor-parallel ranks
    // once more, and each pair of neighbouring stages, between which PyTorch's send and recv make a
    // communicator.
    bool pipeline_engine_groups = false;
    // ZeRO 3: the next unit is gathered after a unit's backward pass, not during it (PyTorch FSDP's
    // BACKWARD_POST). It saves memory, but nothing hides the gather.
    bool prefetch_behind_backward = false;
    std::int64_t ddp_bucket_size = 0;  // elements; 0: Megatron's default
    // The number of layers of each (chunk, stage), chunk-major; empty: the even split.
    std::vector<std::int64_t> pipeline_layout{};
    // The number of ranks among which a layer's experts are divided, and the number of ranks that
    // split each expert (0: tensor_model_parallel_size). Experts read the ranks of a pipeline stage
    // as etp x ep x edp, the rest of the layer as tp x cp x dp (Megatron-Core's parallel folding,
    // Liu et al., arXiv 2504.14960).
    std::int64_t expert_model_parallel_size = 1;
    std::int64_t expert_tensor_parallel_size = 0;
    TokenDispatcher moe_token_dispatcher_type = TokenDispatcher::alltoall;
    // Choosing experts, counting their tokens and moving rows are one kernel each. Products read
    // the counts on the device, and rows arrive in the order of the products (Orrery's own
    // runtime). false: the kernels of Megatron-Core.
    bool moe_fused_kernels = false;
    // One kernel each moves rows into another order and sums the rows of a token (Megatron-Core's
    // option of this name; Transformer Engine's kernels). false: operators of PyTorch do.
    bool moe_permute_fusion = true;
    // The products of experts obey gradient_accumulation_fusion, too. false: they make gradients of
    // their own, which are added (Megatron-Core's GroupedMLP, whose products are grouped_gemm's).
    bool moe_gradient_accumulation_fusion = true;
    // The product adds the bias of the experts' second product, weighted like its rows (Transformer
    // Engine's op fuser). false: kernels of PyTorch add it.
    bool moe_fused_bias = false;
    // The products of experts apply the activation and write its results in MXFP8 (Transformer
    // Engine's op fuser, NVTE_CUTEDSL_FUSED_GROUPED_MLP). false: kernels between the products do.
    bool moe_fused_activation = false;
    // Scores and choice are one kernel, and the balancing loss is another (Megatron-Core's option
    // of this name; Transformer Engine's fused router).
    bool moe_router_fusion = false;
    // The shared expert computes while tokens travel to the other experts.
    bool moe_shared_expert_overlap = false;
    RouterLoad moe_router_load = RouterLoad::balanced;
    // With zipf and bias_balanced: the exponent. With hot: the hot expert's tokens over the mean.
    double moe_router_load_alpha = 1;
    std::int64_t moe_router_load_seed = 1;
    // With RouterLoad::trace: the number of tokens of each expert, for one layer or layer by layer
    // for all.
    std::vector<std::int64_t> moe_router_load_trace{};
    // An expert takes at most this many times the mean number of tokens; the rest are dropped. 0:
    // no limit (Megatron-LM's --moe-expert-capacity-factor).
    double moe_expert_capacity_factor = 0;
    // With a capacity: each expert is filled up to it, and all numbers of rows are known without
    // counts (Megatron-Core's option of this name).
    bool moe_pad_expert_input_to_capacity = false;
    ExpertPlacement moe_expert_placement = ExpertPlacement::linear;
    // A rank's rows for one expert are hashed, and rows with equal hashes travel as one row. This
    // is the share of rows that travels (LSH-MoE, Nie et al., NeurIPS 2024). 1: all rows.
    double moe_lsh_compression_rate = 1;
    // The number of parts of a layer's rows. Each part is sent, computed and sent back separately
    // (Tutel, FSMoE).
    std::int64_t moe_pipeline_degree = 1;
    // Rows are gathered and put back by products with masks of tokens and experts' places (GShard's
    // algorithm 2, the default of DeepSpeed-MoE). false: kernels move rows by their indices.
    bool moe_mask_products = false;
    // A product of experts multiplies tiles of rows as the exchange brings them, or the exchange
    // sends tiles as the product makes them (COMET, Zhang et al., MLSys 2025; FLUX).
    bool moe_tile_overlap = false;
    // Of dispatched rows; fp8 has a scale for every 128 elements
    Dtype moe_dispatch_dtype = Dtype::bf16;
    std::int64_t moe_dispatcher_sms = 0;  // SMs of deepep and hybridep; 0: their default
    // The forward pass of one micro-batch runs together with the backward pass of another. The
    // exchanges of each then overlap the products of the other (Megatron-Core's option of this
    // name).
    bool overlap_moe_expert_parallel_comm = false;
    // In these backward passes, weight gradients are computed after the exchange has started
    // (Megatron-Core's option of this name).
    bool delay_wgrad_compute = false;
    Dtype moments_dtype = Dtype::fp32;  // of the optimizer's two moments
    Fp8Recipe fp8_recipe = Fp8Recipe::delayed;
    // Weights of layers are gathered as FP8 (Megatron-LM's --fp8-param-gather, torchao's
    // enable_fsdp_float8_all_gather).
    bool fp8_param_gather = false;
    // The backward pass of an FP8 product reads the FP8 copy of its input, and the 16-bit input is
    // freed (Transformer Engine). false: the input is kept and cast again (torchao, XLA).
    bool fp8_saved_inputs = true;
    // Attention's products are in FP8, too (Megatron-Core's option of this name).
    bool fp8_dot_product_attention = false;
    // The input embedding, the output layer and the loss are split over the pipeline stages. Each
    // stage holds a part of the vocabulary (Yeung et al., Balancing Pipeline Parallelism with
    // Vocabulary Parallelism, arXiv 2411.05288).
    bool vocabulary_parallel = false;
    // ZeRO 1: gradients are reduced only to the ranks that step them. false: an all-reduce gives
    // them to all ranks (DeepSpeed's BF16_Optimizer).
    bool reduce_scatter = true;
    // ZeRO 2: every backward pass reduces the gradients that it has made, unit by unit, and adds
    // them to its rank's part (DeepSpeed's stage 2, PaddleNLP's: stages without no_sync()). false:
    // whole gradients add up and are reduced once a step (MegaScale, section 3.2).
    bool reduce_every_micro_batch = false;
    // ZeRO 1 and 2: each parameter has one owner, which broadcasts it after the step (InternEvo's
    // HybridZeroOptimizer). false: every rank steps an equal part of all parameters. Both have the
    // memory and the optimizer's time of equal parts.
    bool zero_whole_parameters = false;
    // ZeRO 1 and 2: after the gather each rank's part of each parameter is copied by itself
    // (nanotron's all_gather_coalesced). false: parameters are views of the gathered buffer.
    bool zero_copies_parts = false;
    // Gradients are copied into the buffer of a reduction and back (torch.cat and copy_,
    // InternEvo). ZeRO 3: they are copied into it (models/blocks/gradient_copies.h). false: they
    // lie in it.
    bool gradient_bucket_copies = false;
    // ZeRO 3 with gradient_bucket_copies: the elements of DeepSpeed's bucket, into which parameters
    // that it holds are copied; 0: one buffer holds a unit (models/blocks/gradient_copies.h).
    std::int64_t reduce_bucket_size = 0;
    // ZeRO 3: a unit is gathered into one buffer and then copied into its parameters, as by
    // PyTorch's fully_shard. false: parameters are views of the buffer, as in PyTorch's older FSDP.
    bool fsdp_copy_out = false;

    // Each data-parallel rank holds a part of the weights, and they are gathered for each use.
    bool shards_weights() const {
        return row_of(data_parallel_sharding_strategy).weights == Held::shard;
    }
    bool shards_optimizer() const {
        return row_of(data_parallel_sharding_strategy).optimizer == Held::shard;
    }
    // Whether selective recomputation includes at least one of these modules.
    bool recomputes(std::uint32_t modules) const {
        return recompute_granularity == Recompute::selective && (recompute_modules & modules) != 0;
    }
    // Whether the product for a weight's gradient adds into the sum of gradients.
    bool fuses_gradients(bool of_experts) const {
        return gradient_accumulation_fusion && !autocast &&
               (moe_gradient_accumulation_fusion || !of_experts);
    }
    std::int64_t num_micro_batches() const {
        return global_batch_size / (micro_batch_size * data_parallel_size);
    }
    std::int64_t model_parallel_size() const {
        return tensor_ranks_of_stages() * context_parallel_size;
    }
    // The number of model chunks on a pipeline rank. DualPipe has two, although its stages are not
    // cut.
    std::int64_t chunks_of_stage() const {
        return schedule == ScheduleKind::dual_pipe ? 2 : virtual_pipeline_model_parallel_size;
    }
    std::int64_t tensor_ranks_of_stages() const {
        const std::vector<std::int64_t>& sizes = stage_tensor_model_parallel_sizes;
        return sizes.empty() ? tensor_model_parallel_size * pipeline_model_parallel_size
                             : std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    }
    std::int64_t expert_tensor_size() const {
        return expert_tensor_parallel_size > 0 ? expert_tensor_parallel_size
                                               : tensor_model_parallel_size;
    }
    bool captures(CudaGraphPart part) const {
        return (cuda_graph_scope & static_cast<std::uint32_t>(part)) != 0;
    }
    // The type in which buckets of gradients travel.
    Dtype wire_of_gradients() const {
        return size_bytes(grad_reduce_dtype) < size_bytes(gradient_dtype) ? grad_reduce_dtype
                                                                          : gradient_dtype;
    }
    // Each op is a call of the framework: no compiler and no graph replaces the calls.
    bool ops_are_calls() const { return eager_framework && !compiled && !cuda_graphs; }
    // NCCL sends one row for each expert of a token. Fused kernels require this.
    bool sends_row_for_each_expert() const {
        return moe_token_dispatcher_type == TokenDispatcher::alltoall ||
               moe_token_dispatcher_type == TokenDispatcher::hierarchical ||
               moe_token_dispatcher_type == TokenDispatcher::two_dimensional;
    }
    // The same plan on a runtime that launches ops from C++, for example Orrery's own.
    ParallelPlan launched_from_cpp() const {
        ParallelPlan plan = *this;
        plan.eager_framework = false;
        plan.cuda_launch_blocking = false;
        plan.cuda_graph_scope = 0;
        plan.moe_router_fusion = false;
        plan.moe_pad_expert_input_to_capacity = false;
        plan.moe_mask_products = false;
        plan.moe_fused_kernels = sends_row_for_each_expert();
        return plan;
    }
    // The order has no meaning. It lets maps use a plan as their key.
    auto operator<=>(const ParallelPlan&) const = default;
};

}  // namespace orrery
