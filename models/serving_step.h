// SPDX-License-Identifier: Apache-2.0
// One forward pass of an inference engine over a mixed batch: the kernels and collectives that each
// rank of a pipeline stage runs, one after the other. Sequences that generate share one attention
// kernel, every chunk of a prompt has its own, all tokens go through the products together.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/kernel_call.h"
#include "engine/serving/batch_scheduler.h"
#include "engine/transfer_call.h"
#include "engine/units.h"
#include "kernels/attention/attention.h"
#include "models/transformer.h"

namespace orrery {

// How an instance holds the model.
struct ServingPlan {
    std::int64_t tensor_model_parallel_size = 1;
    std::int64_t pipeline_model_parallel_size = 1;
    Dtype precision = Dtype::bf16;  // in which products are computed
    std::int64_t weight_bits = 16;  // 4 where weights are unpacked on the way to the product
    Dtype key_value_precision = Dtype::bf16;
    AttentionGeneration attention = AttentionGeneration::flash_2;
    bool operator==(const ServingPlan&) const = default;
};

// A chunk of a prompt: `new_tokens` rows that see `context` earlier tokens and themselves.
struct PromptChunk {
    std::int64_t new_tokens = 0;
    std::int64_t context = 0;
    bool operator==(const PromptChunk&) const = default;
};

// Everything about a batch that its cost depends on.
struct BatchShape {
    std::int64_t tokens = 0;              // rows of every product
    std::int64_t sampled = 0;             // rows of the output layer
    std::int64_t generating = 0;          // sequences that compute one token on top of a context
    std::int64_t generating_context = 0;  // tokens that these see, their own among them
    std::vector<PromptChunk> chunks;
    bool operator==(const BatchShape&) const = default;
};
BatchShape shape_of(const Batch& batch);

struct ServingOp {
    std::string_view name;
    // A collective of the tensor-parallel group (bytes as engine/program.h counts them), or a
    // message to the next stage.
    std::variant<KernelCall, CollectiveCall, SendCall> work;
    std::int64_t count = 1;   // times that the stage runs it
    bool of_context = false;  // depends on more of the shape than `tokens` and `sampled`
};

// The layers of a stage: as equal as possible, the first ones larger.
std::int64_t layers_of_stage(const Transformer& model, const ServingPlan& plan, std::int64_t stage);

// In the order of execution, repeated layers counted. A shape without tokens has no ops.
std::vector<ServingOp> serving_ops(const Transformer& model,
                                   const ServingPlan& plan,
                                   const BatchShape& shape,
                                   std::int64_t stage);
// The attention kernels alone: what changes from step to step while `tokens` and `sampled` stay.
std::vector<ServingOp> attention_ops(const Transformer& model,
                                     const ServingPlan& plan,
                                     const BatchShape& shape,
                                     std::int64_t stage);

// Keys and values of a token, of all layers and heads, each once.
Bytes key_value_bytes(const Transformer& model, const ServingPlan& plan);
// The same on one rank of a stage. Ranks beyond the number of key-value heads hold copies.
Bytes key_value_bytes_of_rank(const Transformer& model,
                              const ServingPlan& plan,
                              std::int64_t stage);
// Weights on one rank of a stage. Embedding and output layer keep 16 bits.
Bytes serving_weight_bytes(const Transformer& model, const ServingPlan& plan, std::int64_t stage);

}  // namespace orrery
