// SPDX-License-Identifier: Apache-2.0
// Attention with stored scores: products of all heads as batched gemms, and softmax with its
// dropout between them (kernels/softmax/softmax.h). What a product takes of Q, K and V are column
// parts of the packed tensor.
#pragma once

#include "kernels/attention/attention.h"
#include "models/layer_lowering.h"

namespace orrery {

// Writes a.context; leaves in `a` what the backward pass needs.
void unfused_attention_forward(BlockBuilder& b,
                               std::int64_t layer,
                               const AttentionShape& shape,
                               const Value& qkv,
                               LayerActivations& a);
// Returns dqkv.
Value unfused_attention_backward(BlockBuilder& b,
                                 const AttentionShape& shape,
                                 const Value& qkv,
                                 const LayerActivations& a,
                                 const Value& dcontext,
                                 Lifetime lifetime);

}  // namespace orrery
