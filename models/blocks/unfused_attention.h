// SPDX-License-Identifier: Apache-2.0
// Attention with stored scores: products of all heads as batched gemms, and softmax with its
// dropout between them (kernels/softmax/softmax.h). What a product takes of Q, K and V are column
// parts of the packed tensor.
#pragma once

#include "kernels/attention/attention.h"
#include "models/segments/block_builder.h"

namespace orrery {

// What the backward pass of attention needs of its forward pass.
struct AttentionActivations {
    Value context;        // its output
    Value statistics;     // flash attention's log-sum-exp
    Value last_block;     // of K and V in a ring: where the backward pass begins
    Value probabilities;  // unfused attention only
    Value score_mask;     // their dropout
    Value dropped;        // probabilities after dropout
};

// Writes a.context; leaves in `a` what the backward pass needs, of which `internals` is how long
// scores live.
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
