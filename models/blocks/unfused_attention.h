// SPDX-License-Identifier: Apache-2.0
// Attention that stores its scores: batched GEMMs of all heads, and between them softmax with
// dropout (kernels/softmax/softmax.h). The operands Q, K and V are column parts of the packed
// tensor.
#pragma once

#include "kernels/attention/attention.h"
#include "models/segments/block_builder.h"

namespace orrery {

// The operands of attention's backward pass from its forward pass.
struct AttentionActivations {
    Value context;        // attention's output
    Value statistics;     // flash attention's log-sum-exp
    Value query;          // of a ring: Q without K and V, or empty (query_of_ring())
    Value last_block;     // of K and V in a ring, with which the backward pass begins
    Value probabilities;  // unfused attention only
    Value score_mask;     // of their dropout
    Value dropped;        // probabilities after dropout
};

// Writes a.context, and the backward pass's operands to `a`. `internals` is the lifetime of scores.
void unfused_attention_forward(BlockBuilder& b,
                               std::int64_t layer,
                               const AttentionShape& shape,
                               const Value& qkv,
                               Lifetime internals,
                               AttentionActivations& a);
// Returns dqkv.
Value unfused_attention_backward(BlockBuilder& b,
                                 const AttentionShape& shape,
                                 const Value& qkv,
                                 const AttentionActivations& a,
                                 const Value& dcontext,
                                 Lifetime lifetime);

}  // namespace orrery
