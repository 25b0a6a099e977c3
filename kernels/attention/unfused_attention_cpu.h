// SPDX-License-Identifier: Apache-2.0
// The batched products of unfused attention on the CPU; softmax and dropout of the scores come
// between them (kernels/softmax/softmax_cpu.h, kernels/residual/residual_cpu.h).
//   scores, probabilities: [seq_q, batch, heads, seq_kv]; context: [seq_q, batch, heads, head_dim].
// Scores are not scaled: softmax_forward does. With grouped queries the gradients of a key-value
// head are the sum over its query heads in order (rounded to the tensor's type at each).
#pragma once

#include "kernels/attention/attention_cpu.h"

namespace orrery::cpu {

// scores = Q K^T
void attention_scores(const AttentionShape& shape,
                      ConstTokenColumns q,
                      ConstTokenColumns k,
                      TensorView scores);
// context = P V
void attention_context(const AttentionShape& shape,
                       ConstTensorView probabilities,
                       ConstTokenColumns v,
                       TensorView context);
// dV = P^T dO, dP = dO V^T
void attention_value_gradient(const AttentionShape& shape,
                              ConstTensorView probabilities,
                              ConstTensorView dcontext,
                              TokenColumns dv);
void attention_probability_gradient(const AttentionShape& shape,
                                    ConstTensorView dcontext,
                                    ConstTokenColumns v,
                                    TensorView dprobabilities);
// dQ = dS K, dK = dS^T Q
void attention_query_gradient(const AttentionShape& shape,
                              ConstTensorView dscores,
                              ConstTokenColumns k,
                              TokenColumns dq);
void attention_key_gradient(const AttentionShape& shape,
                            ConstTensorView dscores,
                            ConstTokenColumns q,
                            TokenColumns dk);

}  // namespace orrery::cpu
