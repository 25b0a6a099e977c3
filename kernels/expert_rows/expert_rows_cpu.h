// SPDX-License-Identifier: Apache-2.0
// Rows of tokens on the CPU (kernels/expert_rows/expert_rows.h). Experts are int32, weights fp32,
// rows fp32 or bf16; sums over the experts of a token are taken in fp32 in their order.
//   x, y [tokens, width]; rows [tokens * k, width]; chosen, weights [tokens, k]; row weights
//   [tokens * k]. Rows of dropped tokens are missing: what lies behind the last row is not touched.
#pragma once

#include "kernels/expert_rows/expert_rows.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct ExpertCountsShape {
    std::int64_t tokens = 0;
    std::int64_t experts = 1;
    std::int64_t k = 1;
    std::int64_t capacity = 0;  // 0: none
};

// counts[e]: tokens that expert e takes. With a capacity each expert takes the tokens that weigh
// most, of equal ones the first, and `kept` is `chosen` with -1 where a token is dropped. `load`
// [2 experts] (fp32, empty if not wanted) gets the tokens that chose each expert added, and then
// the tokens that it took.
void expert_counts(const ExpertCountsShape& shape,
                   ConstTensorView chosen,
                   ConstTensorView weights,
                   TensorView counts,
                   TensorView kept,
                   TensorView load);

// rows and row_weights: those of x and weights, ordered by expert. Without `weights` rows alone.
void permute(const ExpertRows& shape,
             ConstTensorView x,
             ConstTensorView weights,
             ConstTensorView chosen,
             TensorView rows,
             TensorView row_weights);
// y = the sum of each token's rows, and its weights: 0 where it was dropped.
void unpermute(const ExpertRows& shape,
               ConstTensorView rows,
               ConstTensorView row_weights,
               ConstTensorView chosen,
               TensorView y,
               TensorView weights);

// bias[e] += rate * sign(mean load - load[e]), of the first `experts` elements of load (Wang et
// al., arXiv 2408.15664, algorithm 1).
void expert_bias(std::int64_t experts, float rate, ConstTensorView load, TensorView bias);

}  // namespace orrery::cpu
