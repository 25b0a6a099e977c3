// SPDX-License-Identifier: Apache-2.0
// Scale, mask and softmax of stored scores on the CPU: p = softmax(mask(scale s)) over each row.
// Scores and probabilities are [seq_q, batch, heads, seq_kv] (one row for each query and head),
// each fp32 or bf16. Rows are computed in fp32, with sums in 16 lanes. Masked probabilities are 0;
// a row without a visible key is all 0. Causal as in attention.h: the last query sees the last key;
// `window` > 0 limits the visible keys, including the query's own. Dropout of the probabilities is
// dropout_forward (kernels/residual/residual_cpu.h), after softmax_forward and, for the gradient,
// before softmax_backward.
#pragma once

#include "kernels/softmax/softmax.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct SoftmaxArguments {
    float scale = 1.0f;  // 1 / sqrt(head_dim)
    std::int64_t window = 0;
};

// `probabilities` may alias `scores`.
void softmax_forward(const SoftmaxShape& shape,
                     const SoftmaxArguments& arguments,
                     ConstTensorView scores,
                     TensorView probabilities);
// In place: `gradient` is dP before, and dS = scale P (dP - rowsum(P dP)) afterwards.
void softmax_backward(const SoftmaxShape& shape,
                      const SoftmaxArguments& arguments,
                      ConstTensorView probabilities,
                      TensorView gradient);

}  // namespace orrery::cpu
