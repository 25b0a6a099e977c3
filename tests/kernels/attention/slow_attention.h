// SPDX-License-Identifier: Apache-2.0
// Attention in float64, pair by pair, of a whole sequence (aligned at the end).
//   q [seq_q, batch, heads, head_dim]; kv [seq_kv, batch, 2 kv_heads, head_dim], keys then values.
#pragma once

#include "kernels/attention/attention.h"
#include "tests/kernels/numeric.h"

namespace orrery::cpu {

struct SlowAttention {
    numeric::Doubles output;       // as q
    numeric::Doubles log_sum_exp;  // [seq_q, batch, heads]
};
SlowAttention slow_attention(const AttentionShape& shape,
                             const numeric::Doubles& q,
                             const numeric::Doubles& kv);

struct SlowGradients {
    numeric::Doubles q;
    numeric::Doubles kv;
};
// By the softmax's Jacobian, dP - rowsum(P dP), in float64.
SlowGradients slow_attention_gradients(const AttentionShape& shape,
                                       const numeric::Doubles& q,
                                       const numeric::Doubles& kv,
                                       const numeric::Doubles& doutput);

}  // namespace orrery::cpu
