// SPDX-License-Identifier: Apache-2.0
// Linear attention between Q, K, V and its output. A token's output is its query times the sum of
// the outer products of all keys and values up to the token: one matrix of head_dim x head_dim a
// head. Tokens of a block attend to one another without a softmax, and to earlier blocks by that
// matrix (Qin et al., Lightning Attention-2, arXiv 2401.04658, algorithms 1 and 2).
//
// If ranks share a sequence in a ring, only the matrices travel, whatever the length of the
// sequence (Sun et al., LASP, arXiv 2404.02882, section 3). Each rank needs the sum of the matrices
// of the ranks before it. That takes one hop for each other rank, and the backward pass takes as
// many in the opposite direction.
#pragma once

#include "models/segments/block_builder.h"

namespace orrery {

inline constexpr std::int64_t kLinearAttentionBlock = 256;  // tokens (Lightning Attention-2)

struct LinearAttentionActivations {
    Value context;  // the output; the caller makes the value
    Value before;  // ring: the sum of the matrices of the earlier ranks, kept for the backward pass
};

// Writes a.context. `saved` is the lifetime of the backward pass's operands.
void linear_attention_forward(BlockBuilder& b,
                              const Value& qkv,
                              Lifetime saved,
                              LinearAttentionActivations& a);
// Returns dqkv.
Value linear_attention_backward(BlockBuilder& b,
                                const Value& qkv,
                                const LinearAttentionActivations& a,
                                const Value& dcontext,
                                Lifetime lifetime);

}  // namespace orrery
