// SPDX-License-Identifier: Apache-2.0
// The six products of unfused attention, for every head of every sequence, as strided matrices in
// one or a few batches. Softmax and dropout of the scores come between them
// (kernels/softmax/softmax.h). The same on every device.
//   scores, probabilities: [seq_q, batch, heads, seq_kv]; context: [seq_q, batch, heads, head_dim].
// The scores are not scaled; softmax_forward scales them. With grouped queries the gradients of a
// key-value head are the sums over its query heads in order, rounded to the tensor's type after
// each.
#pragma once

#include <vector>

#include "kernels/attention/token_columns.h"

namespace orrery {

// Distances in elements between rows, sequences, query heads of a group, and key-value heads.
struct HeadSteps {
    std::int64_t first = 0;
    std::int64_t row = 0;
    std::int64_t sequence = 0;
    std::int64_t member = 0;  // 0: the query heads of a group share one matrix
    std::int64_t kv_head = 0;
};

// result = op(x) op(y) for each head; m, n, k are those of one head.
struct HeadProduct {
    AttentionShape shape;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    bool transpose_x = false;
    bool transpose_y = false;
    ConstTensorView x;
    ConstTensorView y;
    TensorView result;
    HeadSteps steps_x;
    HeadSteps steps_y;
    HeadSteps steps_result;
};

// scores = Q K^T
HeadProduct attention_scores(const AttentionShape& shape,
                             cpu::ConstTokenColumns q,
                             cpu::ConstTokenColumns k,
                             TensorView scores);
// context = P V
HeadProduct attention_context(const AttentionShape& shape,
                              ConstTensorView probabilities,
                              cpu::ConstTokenColumns v,
                              TensorView context);
// dV = P^T dO, dP = dO V^T
HeadProduct attention_value_gradient(const AttentionShape& shape,
                                     ConstTensorView probabilities,
                                     ConstTensorView dcontext,
                                     cpu::TokenColumns dv);
HeadProduct attention_probability_gradient(const AttentionShape& shape,
                                           ConstTensorView dcontext,
                                           cpu::ConstTokenColumns v,
                                           TensorView dprobabilities);
// dQ = dS K, dK = dS^T Q
HeadProduct attention_query_gradient(const AttentionShape& shape,
                                     ConstTensorView dscores,
                                     cpu::ConstTokenColumns k,
                                     cpu::TokenColumns dq);
HeadProduct attention_key_gradient(const AttentionShape& shape,
                                   ConstTensorView dscores,
                                   cpu::ConstTokenColumns q,
                                   cpu::TokenColumns dk);

// `count` products whose matrices are at constant distances.
struct HeadBatch {
    std::int64_t count = 1;
    ConstTensorView x;  // from the first element of the first matrix on
    ConstTensorView y;
    TensorView result;
    std::int64_t step_x = 0;
    std::int64_t step_y = 0;
    std::int64_t step_result = 0;
    bool accumulate = false;
};
// The batches in the order of execution.
std::vector<HeadBatch> head_batches(const HeadProduct& product);

}  // namespace orrery
