// SPDX-License-Identifier: Apache-2.0
// How a training step is spread over the ranks. Names and meanings are Megatron-LM's.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/kernel_call.h"
#include "models/plan/recompute_choices.h"
#include "models/plan/sharding_strategy.h"

namespace orrery {

enum class Recompute : std::uint8_t { none, selective, full };
// Parts of a layer that a CUDA graph of its own captures (Megatron-Core's --cuda-graph-scope).
enum class CudaGraphPart : std::uint32_t {
    attn = 1,            // norm 1 to the attention's output
    mlp = 2,             // a dense layer from norm 2 on
    moe_router = 4,      // norm 2, the router, and the shared expert unless it overlaps
    moe_preprocess = 8,  // what an exchange of tokens needs beforehand
};

// How FP8 values get their scales: from the maxima of earlier steps, from the tensor itself, from
// each row and each column, or by blocks of 32 (Megatron-LM's --fp8-recipe has the first, second
// and last; torchao has the others).
enum class Fp8Recipe : std::uint8_t { delayed, tensorwise, rowwise, mxfp8 };
enum class ScheduleKind : std::uint8_t {
    gpipe,
    one_f_one_b,
    interleaved_1f1b,
    breadth_first,
    zero_bubble,
    dual_pipe,    // both ends of the pipeline at once, each stage on two ranks (DeepSeek-V3,
                  // arXiv 2412.19437, section 3.2.1)
    dual_pipe_v,  // the same order on half the ranks: the stages go there and back
};
enum class ContextParallelComm : std::uint8_t { ring, all_to_all };  // p2p ring, head exchange
enum class Optimizer : std::uint8_t { adam, lamb };
// Where an optimizer's state lies that the device does not hold: in the host's memory, or in a file
// on the host's drives.
enum class OffloadTier : std::uint8_t { host, file };
// Where weights or gradients lie that no pass works with: the tiers of a device and its host.
enum class StateTier : std::uint8_t { device, host, file };
// Which attention kernel a stack ran: a fact about the stack, not a tuning knob.
enum class AttentionKernel : std::uint8_t { unfused, flash_1, flash_2, flash_3, cudnn };
// As scenarios name it.
constexpr std::string_view name(AttentionKernel kernel) {
    constexpr std::array<std::string_view, 5> kNames{
        "unfused", "flash_1", "flash_2", "flash_3", "cudnn"};
    return kNames[static_cast<std::size_t>(kernel)];
}
// What takes rows of tokens to the ranks of their experts and back, in the order and with the names
// of network/collectives/dispatcher.h.
enum class TokenDispatcher : std::uint8_t {
    alltoall,            // each row to its rank, by NCCL
    allgather,           // all tokens to all ranks
    hierarchical,        // by one rank of each node
    two_dimensional,     // inside nodes, then among equal local ranks
    deepep,              // once to each node, and on over NVLink (DeepEP's normal kernels)
    deepep_low_latency,  // once for each expert, straight from NIC to NIC
    hybridep,            // as deepep, with few SMs (DeepEP's branch hybrid-ep)
    host_driven,         // without SMs, counts stay on the device
};
// Which experts tokens are sent to (models/experts/router_load.h).
enum class RouterLoad : std::uint8_t {
    balanced,       // equally many to each
    uniform,        // drawn, all alike
    zipf,           // drawn by Zipf's law
    bias_balanced,  // drawn by Zipf's law, then balanced by a bias (Wang et al., arXiv 2408.15664)
    hot,            // one expert of each layer, another in the next
    trace,          // as counted
};
// Which experts the ranks of a layer have: consecutive ones, or equally likely ones together
// (models/experts/expert_placement.h).
enum class ExpertPlacement : std::uint8_t { linear, balanced };
enum class RankOrder : std::uint8_t {
    tp_cp_dp_pp,  // Megatron-LM's default; data-parallel groups before pipeline groups
    tp_cp_pp_dp,
};

// Pieces are numbered in 16 bits (engine/program/program.h), and each is an op of its own.
inline constexpr std::int64_t kTpCommOverlapChunksMax = 1024;

// No model has more units.
inline constexpr std::int64_t kPrefetchUnitsMax = 1'000'000;

struct ParallelPlan {
    std::int64_t tensor_model_parallel_size = 1;
    std::int64_t pipeline_model_parallel_size = 1;
    // The tensor-parallel size of each pipeline stage, where stages have different ones (slower or
    // smaller devices in some of them); tensor_model_parallel_size is then the largest. Empty: all
    // alike.
    std::vector<std::int64_t> stage_tensor_model_parallel_sizes{};
    std::int64_t virtual_pipeline_model_parallel_size = 1;  // model chunks a pipeline rank
    std::int64_t context_parallel_size = 1;
    std::int64_t data_parallel_size = 1;  // derived from the number of GPUs, never given
    bool sequence_parallel = false;
    ContextParallelComm context_parallel_comm = ContextParallelComm::ring;
    ShardingStrategy data_parallel_sharding_strategy = ShardingStrategy::no_shard;
    std::int64_t hsdp_shard_size = 0;  // > 0: shard inside groups of this size, replicate outside
    // > 1, ZeRO 3: a forward pass leaves each group of this many data-parallel ranks a secondary
    // copy of the weights, from which the backward pass gathers (DeepSpeed's name; hpZ of ZeRO++,
    // Wang et al. 2023, section 3.2).
    std::int64_t zero_hpz_partition_size = 0;
    // ZeRO 3: weights are gathered as int8 (DeepSpeed's name; qwZ of ZeRO++, section 3.1).
    bool zero_quantized_weights = false;
    // ZeRO 3: gradients are exchanged as int4, inside nodes and then between them (DeepSpeed's
    // name; qgZ of ZeRO++, section 3.3).
    bool zero_quantized_gradients = false;
    // ZeRO 3: weights are gathered again for the backward pass. false: the forward pass's stay
    // whole until then (the argument of PyTorch's fully_shard).
    bool reshard_after_forward = true;
    // ZeRO 3: layers whose weights are gathered by one collective and live together (a unit of
    // PyTorch's fully_shard); 0: a layer at a time, each parameter by a collective of its own.
    std::int64_t fsdp_unit_layers = 1;
    // ZeRO 3 with overlap_param_gather: units gathered ahead of the one in use.
    std::int64_t fsdp_prefetch_units = 1;
    std::int64_t micro_batch_size = 1;
    std::int64_t global_batch_size = 1;
    Dtype precision = Dtype::bf16;  // of GEMM inputs: fp32, fp16, bf16, fp8
    Recompute recompute_granularity = Recompute::none;
    RecomputeMethod recompute_method = RecomputeMethod::uniform;
    std::int64_t recompute_num_layers = 1;
    std::uint32_t recompute_modules = static_cast<std::uint32_t>(RecomputeModule::core_attn);
    ScheduleKind schedule = ScheduleKind::one_f_one_b;
    RankOrder rank_order = RankOrder::tp_cp_dp_pp;
    AttentionKernel attention_kernel = AttentionKernel::flash_2;
    Optimizer optimizer = Optimizer::adam;
    // The host's processors step the weights, whose optimizer state lies in host memory: gradients
    // go there and new weights come back (Ren et al., ZeRO-Offload, USENIX ATC 2021).
    bool optimizer_cpu_offload = false;
    // Full recomputation: of the inputs that it keeps, the share that lies in the host's memory
    // until the backward pass (DeepSpeed's cpu_checkpointing; Bekman et al., arXiv 2506.13996).
    double activation_offload_fraction = 0;
    // The device waits for each of these inputs until it is in the host's memory, as it does for a
    // copy to memory that is not pinned (DeepSpeed's cpu_checkpointing, which allocates it anew in
    // each step).
    bool activation_offload_blocking = false;
    // > 0: a rank's tokens pass the MLP in equal tiles of at most this many, and each tile runs
    // again in the backward pass; the same of the output layer and the loss (DeepSpeed's
    // TiledMLP and SequenceTiledCompute; section 3.1 there).
    std::int64_t mlp_tile_tokens = 0;
    std::int64_t loss_tile_tokens = 0;
    // Where optimizer_cpu_offload keeps the state. A file is read and written in windows, the next
    // one while the host steps the one before (Rajbhandari et al., ZeRO-Infinity, SC 2021, section
    // 5.2.2).
    OffloadTier optimizer_offload_tier = OffloadTier::host;
    // With optimizer_cpu_offload, the share of the parameters that the host steps; the device steps
    // the others (Megatron-LM's option of this name; DeepSpeed's twin-flow).
    double optimizer_offload_fraction = 1;
    // With optimizer_cpu_offload, the host steps while the device makes the next step's gradients,
    // so that weights are a step older than gradients (ZeRO-Offload, section 5.2).
    bool delayed_param_update = false;
    // Where weights lie between their uses, and for which share of the layers; and gradients once a
    // pass has made them (ZeRO-Infinity, section 5).
    StateTier param_offload_tier = StateTier::device;
    double param_offload_fraction = 1;
    StateTier grad_offload_tier = StateTier::device;
    // With optimizer_cpu_offload, new weights travel as the host's fp32 copy, and the device rounds
    // them (DeepSpeed's csrc/adam/cpu_adam.cpp until May 2024).
    bool offload_fp32_weights = false;
    bool gradient_accumulation_fusion = true;  // weight-gradient GEMM adds into fp32 main_grad
    Dtype gradient_dtype = Dtype::fp32;        // of main_grad and of its reduction
    // What the optimizer steps: an fp32 copy of the weights, or, as bf16 (which Megatron-LM's
    // option of this name does not know), the bf16 weights themselves.
    Dtype main_params_dtype = Dtype::fp32;
    // The step's bf16 weights are rounded up with the probability of the discarded part (torchao's
    // name).
    bool bf16_stochastic_round = false;
    bool overlap_grad_reduce = false;
    bool overlap_param_gather = false;
    // The first chunk's weights are gathered while the optimizer steps the others, and all of them
    // may still be on their way when the next step begins.
    bool overlap_param_gather_with_optimizer_step = false;
    bool tp_comm_overlap = false;
    bool overlap_p2p = false;
    // Column-parallel backward: gather x during the dX product, reduce dX during the dW product.
    bool async_tensor_model_parallel_allreduce = true;
    // Send 1/tp of a replicated activation between stages and gather it there (Narayanan et al.,
    // SC21, section 4.1). Without effect under sequence parallelism, where it is split anyway.
    bool scatter_gather_tensors_in_pipeline = true;
    std::int64_t tp_comm_overlap_chunks = 4;
    bool fused_norm = true;           // norm kernels fused (residual + norm, bias + dropout + add)
    bool fused_activation = true;     // bias + activation in one kernel or GEMM epilogue
    bool fused_cross_entropy = true;  // logits turned into their gradient in place
    // The unfused loss has one fp32 buffer of the size of the logits, as Megatron-LM's. false: the
    // copy of the logits, their log-softmax and both gradients have one each (PyTorch's
    // cross_entropy of float() logits).
    bool loss_in_place = true;
    // A norm is a chain of framework ops on an fp32 copy of its input, which the backward pass
    // reads (Hugging Face's LlamaRMSNorm). false: one kernel.
    bool eager_norm = false;
    // Q, K and V are one product, and gate and up another. false: each is a product of its own, and
    // the gradients of what they read are added up (Hugging Face's and torchtitan's Llama).
    bool fused_projections = true;
    // The rotary embedding is a chain of framework ops on fp32 copies of Q and K (torchtitan's
    // apply_rotary_emb), or on as many bytes in 16 bits (Hugging Face's rotate_half). false: one
    // kernel.
    bool eager_rope = false;
    // The optimizer's step is one kernel (Apex, PyTorch's fused AdamW). false: a kernel for each
    // operator of its formula (PyTorch's foreach AdamW, its default).
    bool fused_optimizer = true;
    std::int64_t loss_metrics = 0;  // losses that are computed again, for reports, unfused
    // Every op is a call of an eager framework (PyTorch), whose host time is many times a launch's
    // (scenarios/studies/simulate/step_efficiency.h), unless it is compiled or in a graph; false:
    // ops are launched from C++.
    bool eager_framework = true;
    bool cuda_graphs = false;
    // Bits of CudaGraphPart: these parts of each layer are captured, and the rest is called.
    std::uint32_t cuda_graph_scope = 0;
    bool compiled = false;  // elementwise chains fused by a compiler (torch.compile, XLA)
    bool embedding_and_loss_as_layers = false;  // two extra layer slots in the pipeline split
    // ZeRO 3: gather the next unit behind a unit's backward pass, not beside it (PyTorch FSDP's
    // BACKWARD_POST): less memory, nothing hides the gather.
    bool prefetch_behind_backward = false;
    std::int64_t ddp_bucket_size = 0;  // elements; 0: Megatron's default
    // Layers of each (chunk, stage) if not the even split, chunk-major; empty: even.
    std::vector<std::int64_t> pipeline_layout{};
    // Ranks that share a layer's experts, and ranks that split each expert (0: as many as
    // tensor_model_parallel_size). Experts read the ranks of a pipeline stage as etp x ep x edp,
    // the rest of the layer as tp x cp x dp (Megatron-Core's parallel folding, Liu et al., arXiv
    // 2504.14960).
    std::int64_t expert_model_parallel_size = 1;
    std::int64_t expert_tensor_parallel_size = 0;
    TokenDispatcher moe_token_dispatcher_type = TokenDispatcher::alltoall;
    // One kernel each chooses experts, counts their tokens and moves rows, products take the counts
    // where they lie, and rows arrive in the order in which products read them: Orrery's own
    // runtime. false: the kernels of Megatron-Core.
    bool moe_fused_kernels = false;
    // One kernel each scores and chooses, and makes the loss that balances experts (Megatron-Core's
    // option of this name; Transformer Engine's fused router).
    bool moe_router_fusion = false;
    // The shared expert works while tokens are on their way to the other experts.
    bool moe_shared_expert_overlap = false;
    RouterLoad moe_router_load = RouterLoad::balanced;
    // Exponent of RouterLoad::zipf and bias_balanced; of hot, its expert's tokens over the mean.
    double moe_router_load_alpha = 1;
    std::int64_t moe_router_load_seed = 1;
    // The trace of RouterLoad::trace: tokens of each expert, or of each expert of each layer, layer
    // by layer.
    std::vector<std::int64_t> moe_router_load_trace{};
    // An expert takes at most this many times the mean number of tokens; the rest are dropped. 0:
    // all of them are taken (Megatron-LM's --moe-expert-capacity-factor).
    double moe_expert_capacity_factor = 0;
    ExpertPlacement moe_expert_placement = ExpertPlacement::linear;
    // The rows of a rank for an expert are hashed, and those alike travel as one: this share is
    // left (LSH-MoE, Nie et al., NeurIPS 2024). 1: all travel.
    double moe_lsh_compression_rate = 1;
    // Parts of a layer's rows; each part is sent, computed and sent back by itself (Tutel, FSMoE).
    std::int64_t moe_pipeline_degree = 1;
    Dtype moe_dispatch_dtype = Dtype::bf16;  // of dispatched rows: fp8 has a scale for 128 elements
    std::int64_t moe_dispatcher_sms = 0;     // that deepep and hybridep hold; 0: their default
    // The forward pass of one micro-batch runs beside the backward pass of another, so that the
    // exchanges of each are beside the products of the other (Megatron-Core's option of this name).
    bool overlap_moe_expert_parallel_comm = false;
    // In such backward passes gradients of weights are made after the exchange has been started
    // (Megatron-Core's option of this name).
    bool delay_wgrad_compute = false;
    Dtype moments_dtype = Dtype::fp32;  // of the optimizer's two moments
    Fp8Recipe fp8_recipe = Fp8Recipe::delayed;
    // Weights of layers travel as FP8 to where they are used (Megatron-LM's --fp8-param-gather,
    // torchao's enable_fsdp_float8_all_gather).
    bool fp8_param_gather = false;
    // The output layer and the loss are split over the pipeline stages, each of which has its part
    // of the vocabulary (Yeung et al., Balancing Pipeline Parallelism with Vocabulary Parallelism,
    // arXiv 2411.05288).
    bool vocabulary_parallel = false;
    // ZeRO 1: gradients are reduced to the ranks that step them. false: to all ranks, by an
    // all-reduce (DeepSpeed's BF16_Optimizer).
    bool reduce_scatter = true;
    // ZeRO 3: a unit is gathered into one buffer, and copied into its parameters (PyTorch's
    // fully_shard, whose parameters are shards of their own; its predecessor's are views of the
    // buffer).
    bool fsdp_copy_out = false;

    // The data-parallel ranks hold a part of the weights each, and gather them for each use.
    bool shards_weights() const {
        return row_of(data_parallel_sharding_strategy).weights == Held::shard;
    }
    bool shards_optimizer() const {
        return row_of(data_parallel_sharding_strategy).optimizer == Held::shard;
    }
    // These modules are among those of selective recomputation.
    bool recomputes(std::uint32_t modules) const {
        return recompute_granularity == Recompute::selective && (recompute_modules & modules) != 0;
    }
    std::int64_t num_micro_batches() const {
        return global_batch_size / (micro_batch_size * data_parallel_size);
    }
    std::int64_t model_parallel_size() const {
        return tensor_ranks_of_stages() * context_parallel_size;
    }
    // Model chunks of a pipeline rank. DualPipe has two for stages that are not cut.
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
    // Neither a compiler nor a graph stands between the framework and its ops.
    bool ops_are_calls() const { return eager_framework && !compiled && !cuda_graphs; }
    // A row travels for each expert of a token, by NCCL: what fused kernels make and read.
    bool sends_row_for_each_expert() const {
        return moe_token_dispatcher_type == TokenDispatcher::alltoall ||
               moe_token_dispatcher_type == TokenDispatcher::hierarchical ||
               moe_token_dispatcher_type == TokenDispatcher::two_dimensional;
    }
    // The same plan on a runtime that launches ops from C++, such as Orrery's own.
    ParallelPlan launched_from_cpp() const {
        ParallelPlan plan = *this;
        plan.eager_framework = false;
        plan.cuda_graph_scope = 0;
        plan.moe_router_fusion = false;
        plan.moe_fused_kernels = sends_row_for_each_expert();
        return plan;
    }
    // The order says nothing about plans: it is for maps whose key is a plan.
    auto operator<=>(const ParallelPlan&) const = default;
};

}  // namespace orrery
