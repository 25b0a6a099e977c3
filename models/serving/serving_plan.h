// SPDX-License-Identifier: Apache-2.0
// The plan of an instance of an inference engine: the split of the model over its GPUs, the bits of
// weights and of cached keys and values, and the memory of a GPU that follows.
//
// An instance has data x pipeline x tensor ranks. A data-parallel rank holds whole attention blocks
// and the keys and values of its own requests. All data-parallel ranks step together. Experts are
// spread over the data and tensor ranks of a stage: `expert` groups of ranks hold different
// experts, and the ranks of a group hold parts of each.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/program/kernel_call.h"
#include "kernels/attention/attention.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The number format of products. FP4 products need a device with a peak for FP4.
enum class ProductPrecision : std::uint8_t { bf16, fp16, fp8, fp4 };
// The operands' type for kernels. FP4 has no type of its own there; its rate and bytes are set
// separately.
Dtype dtype_of(ProductPrecision precision);
std::int64_t bits_of(ProductPrecision precision);

// The exchange between ranks that share a sequence's cache by position: partial results of
// attention (tree), or the cache itself (ring) (models/serving/serving_context.h).
enum class ContextExchange : std::uint8_t { tree, ring };

struct ServingPlan {
    std::int64_t tensor_model_parallel_size = 1;
    std::int64_t pipeline_model_parallel_size = 1;
    std::int64_t data_parallel_size = 1;          // of attention
    std::int64_t expert_model_parallel_size = 1;  // divides tensor x data
    // The number of ranks that share the cache of each sequence by position; each holds all
    // weights. If it is above 1, all other sizes but tensor_model_parallel_size are 1.
    std::int64_t context_parallel_size = 1;
    ContextExchange context_parallel_comm = ContextExchange::tree;
    ProductPrecision precision = ProductPrecision::bf16;
    // Ranks that hold all experts, in addition to the ranks that hold the rest of the model; 0: no
    // such ranks, the others also hold the experts (Zhang et al., Janus, arXiv:2512.13525).
    std::int64_t expert_ranks = 0;
    std::int64_t weight_bits = 16;  // 4 if the product unpacks its weights
    // Attention's projections have 16 bits, in weights and in products, beside other weights of
    // fewer bits: checkpoints that quantise only the MLP or the experts.
    bool attention_in_16_bits = false;
    // FP8 operands have a scale for every 128 elements of a row, and for every 128 x 128 elements
    // of a weight (kernels/gemm/grouped_gemm.h).
    bool block_scaled = false;
    Dtype key_value_precision = Dtype::bf16;
    AttentionGeneration attention = AttentionGeneration::flash_2;
    // Norms and activations write the operands of FP8 products (TensorRT-LLM's plugins). false:
    // separate kernels cast them.
    bool fused_casts = false;
    // Rotary embedding or attention writes keys and values into the cache. false: a separate kernel
    // does.
    bool fused_cache_write = false;
    // Kernels around the experts' products run over the rows of all experts, and the products write
    // zeros for the rows of other ranks' experts (vLLM's fused experts with an expert map). false:
    // a rank has only the rows of its own experts.
    bool masks_experts = false;
    // The ranks of a stage share an NVLink domain of several servers (MNNVL; GB200 NVL72).
    bool multi_node_nvlink = false;
    // Queries and keys each have one norm over all heads, whose sums of squares the tensor-parallel
    // ranks add up (MiniMax-M2). false: Transformer::qk_layernorm norms each head.
    bool norms_all_heads = false;
    // Tokens are assigned to experts in turn, as in benchmarks of expert layers. false: at random.
    bool balanced_experts = false;
    // The imbalance of experts (rows_of_experts()); 0: all experts are equally likely.
    double expert_skew = 0;

    // The rank of low-rank adapters of every projection: y = x W + x A B (Hu et al., LoRA, ICLR
    // 2022); 0: none.
    std::int64_t adapter_rank = 0;

    std::int64_t ranks_of_stage() const { return tensor_model_parallel_size * data_parallel_size; }
    std::int64_t num_ranks() const {
        return ranks_of_stage() * pipeline_model_parallel_size * context_parallel_size +
               expert_ranks;
    }
    // The number of ranks that split each expert.
    std::int64_t expert_tensor_size() const {
        return ranks_of_stage() / expert_model_parallel_size;
    }
    bool operator==(const ServingPlan&) const = default;
};

// The plan of attention's projections.
ServingPlan plan_of_attention(ServingPlan plan);

// The number of layers of a stage. The numbers are as equal as possible; the first stages have the
// larger ones.
std::int64_t layers_of_stage(const Transformer& model, const ServingPlan& plan, std::int64_t stage);
// The numbers of layers of a stage by kind.
struct StageLayers {
    std::int64_t all = 0;
    std::int64_t windowed = 0;  // attention covers Transformer::sliding_window tokens
    std::int64_t experts = 0;
};
StageLayers stage_layers(const Transformer& model, const ServingPlan& plan, std::int64_t stage);

// The number of copies in a step of an engine that copies the keys and the values of each layer for
// the query heads that share them.
std::int64_t head_copies(const Transformer& model, const ServingPlan& plan, std::int64_t stage);

// The keys and values of one token, for all layers and heads, without copies.
Bytes key_value_bytes(const Transformer& model, const ServingPlan& plan);
// The same on one rank of a stage. Ranks beyond the number of key-value heads hold copies, and all
// ranks hold the whole latent vector of latent attention.
Bytes key_value_bytes_of_rank(const Transformer& model,
                              const ServingPlan& plan,
                              std::int64_t stage);
// The weights on one rank of a stage. Embedding and output layer have 16 bits.
Bytes serving_weight_bytes(const Transformer& model, const ServingPlan& plan, std::int64_t stage);

// The weights on one of the ranks that hold only experts.
Bytes expert_rank_bytes(const Transformer& model, const ServingPlan& plan);

// The memory of a step of at most `tokens` tokens and `samples` sampled rows, without weights and
// cache: the residual stream, the widest product with its operands, and logits in 16 and 32 bits.
Bytes serving_activation_bytes(const Transformer& model,
                               const ServingPlan& plan,
                               std::int64_t tokens,
                               std::int64_t samples);

// The expected number of a layer's experts that get at least one of `tokens` tokens, if all experts
// are equally likely: E (1 - (1 - k/E)^t).
double experts_reached(const Transformer& model, std::int64_t tokens);
// The same if tokens take experts in turn: min(E, k t).
double experts_reached_in_turn(const Transformer& model, std::int64_t tokens);
// The number of rows of each expert, ascending. The density of an expert's load falls as the load
// to the power of -skew. Loads lie between one row and 0.8 of the tokens, or between 0.01 and 2 if
// there are no more rows than experts. No expert has more rows than there are tokens
// (AIConfigurator, collector/helper.py). The loads are quantiles of this law rather than random, so
// that equal batches have equal rows.
std::vector<std::int64_t> rows_of_experts(const Transformer& model,
                                          std::int64_t tokens,
                                          double skew);
// The numbers of rows of one rank's experts. With a skew, experts are dealt to ranks in a random
// order, and the result is for the rank with most rows. Without a skew, the result has the average
// number of experts of a rank that get tokens, with equal rows each.
std::vector<std::int64_t> expert_rows_of_rank(const Transformer& model,
                                              const ServingPlan& plan,
                                              std::int64_t tokens);

}  // namespace orrery
