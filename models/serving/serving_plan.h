// SPDX-License-Identifier: Apache-2.0
// How an instance of an inference engine holds a model: the split over its GPUs, the bits of
// weights and of cached keys and values, and what follows for a GPU's memory.
//
// An instance has data x pipeline x tensor ranks. Data-parallel ranks hold attention whole, have
// keys and values of their own requests, and step together. Experts are spread over the data and
// tensor ranks of a stage: `expert` of them hold different experts, the others parts of each.
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "engine/program/kernel_call.h"
#include "kernels/attention/attention.h"
#include "models/transformer/transformer.h"

namespace orrery {

// In which products are computed. FP4 products exist on devices with a peak for it.
enum class ProductPrecision : std::uint8_t { bf16, fp16, fp8, fp4 };
// The type of the operands as kernels know them; FP4 is computed at a rate and with bytes of its
// own.
Dtype dtype_of(ProductPrecision precision);
std::int64_t bits_of(ProductPrecision precision);

// What ranks that share a sequence's cache by position exchange: what their parts of attention come
// to, or the cache itself (models/serving/serving_context.h).
enum class ContextExchange : std::uint8_t { tree, ring };

struct ServingPlan {
    std::int64_t tensor_model_parallel_size = 1;
    std::int64_t pipeline_model_parallel_size = 1;
    std::int64_t data_parallel_size = 1;          // of attention
    std::int64_t expert_model_parallel_size = 1;  // divides tensor x data
    // Ranks with all weights that share the cache of each sequence by position; then the other
    // sizes but tensor_model_parallel_size are 1.
    std::int64_t context_parallel_size = 1;
    ContextExchange context_parallel_comm = ContextExchange::tree;
    ProductPrecision precision = ProductPrecision::bf16;
    // Ranks that hold all experts, beside the others, which hold all else; 0: the others hold the
    // experts, too (Zhang et al., Janus, arXiv:2512.13525).
    std::int64_t expert_ranks = 0;
    std::int64_t weight_bits = 16;  // 4 where weights are unpacked on the way to the product
    // FP8 operands have a scale for each 128 elements of a row, or 128 x 128 of a weight
    // (kernels/gemm/grouped_gemm.h).
    bool block_scaled = false;
    Dtype key_value_precision = Dtype::bf16;
    AttentionGeneration attention = AttentionGeneration::flash_2;
    // Norms and activations write the operands of FP8 products themselves (TensorRT-LLM's plugins).
    // Otherwise kernels of their own do.
    bool fused_casts = false;
    // Rotary embedding or attention write keys and values into the cache; otherwise a kernel of
    // their own does.
    bool fused_cache_write = false;
    // Kernels around the products of experts run over the rows of all experts, and the products
    // write zeros for those of other ranks (vLLM's fused experts with an expert map). Otherwise a
    // rank has the rows of its own experts alone.
    bool masks_experts = false;
    // Tokens take experts in turn, as timed layers of experts do; otherwise at random.
    bool balanced_experts = false;

    // The rank of low-rank adapters of every projection: y = x W + x A B (Hu et al., LoRA, ICLR
    // 2022); 0: none.
    std::int64_t adapter_rank = 0;

    std::int64_t ranks_of_stage() const { return tensor_model_parallel_size * data_parallel_size; }
    std::int64_t num_ranks() const {
        return ranks_of_stage() * pipeline_model_parallel_size * context_parallel_size +
               expert_ranks;
    }
    // Ranks that share each expert.
    std::int64_t expert_tensor_size() const {
        return ranks_of_stage() / expert_model_parallel_size;
    }
    bool operator==(const ServingPlan&) const = default;
};

// The layers of a stage: as equal as possible, the first ones larger.
std::int64_t layers_of_stage(const Transformer& model, const ServingPlan& plan, std::int64_t stage);
// Kinds of layers among them.
struct StageLayers {
    std::int64_t all = 0;
    std::int64_t windowed = 0;  // attention sees Transformer::sliding_window tokens
    std::int64_t experts = 0;
};
StageLayers stage_layers(const Transformer& model, const ServingPlan& plan, std::int64_t stage);

// Keys and values of a token, of all layers and heads, each once.
Bytes key_value_bytes(const Transformer& model, const ServingPlan& plan);
// The same on one rank of a stage. Ranks beyond the number of key-value heads hold copies, and all
// ranks hold the whole latent vector of latent attention.
Bytes key_value_bytes_of_rank(const Transformer& model,
                              const ServingPlan& plan,
                              std::int64_t stage);
// Weights on one rank of a stage. Embedding and output layer keep 16 bits.
Bytes serving_weight_bytes(const Transformer& model, const ServingPlan& plan, std::int64_t stage);

// Experts on one of the ranks that hold nothing else.
Bytes expert_rank_bytes(const Transformer& model, const ServingPlan& plan);

// What a step of at most `tokens` tokens and `samples` sampled rows needs beside weights and cache:
// the residual stream, the widest product with its operands, and logits in 16 and 32 bits.
Bytes serving_activation_bytes(const Transformer& model,
                               const ServingPlan& plan,
                               std::int64_t tokens,
                               std::int64_t samples);

// Experts of a layer that `tokens` tokens reach if all are equally likely: E (1 - (1 - k/E)^t).
double experts_reached(const Transformer& model, std::int64_t tokens);
// The same if they are taken in turn: min(E, k t).
double experts_reached_in_turn(const Transformer& model, std::int64_t tokens);

}  // namespace orrery
