// SPDX-License-Identifier: Apache-2.0
// Linear attention between Q, K, V and its output: a token's output is its query times the sum of
// the outer products of all keys and values up to it, one matrix of head_dim x head_dim a head.
// Blocks of tokens attend inside by themselves, without a softmax, and to what came before by that
// matrix (Qin et al., Lightning Attention-2, arXiv 2401.04658, algorithms 1 and 2).
//
// Of a sequence that ranks share in a ring only the matrices travel, whatever its length (Sun et
// al., LASP, arXiv 2404.02882, section 3): each rank needs the sum of those before it, which takes
// as many hops as there are other ranks, and the backward pass as many the other way round.
#pragma once

#include "models/segments/block_builder.h"

namespace orrery {

inline constexpr std::int64_t kLinearAttentionBlock = 256;  // tokens (Lightning Attention-2)

struct LinearAttentionActivations {
    Value context;  // the output, which the caller makes
    Value before;   // ring: the sum of the matrices of the ranks before, kept for the backward pass
};

// Writes a.context. `saved`: how long what the backward pass reads lives.
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
