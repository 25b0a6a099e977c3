// SPDX-License-Identifier: Apache-2.0
// Rows of tokens on the CPU (kernels/expert_rows/expert_rows.h). Experts are int32, weights fp32,
// rows fp32 or bf16. Sums over the experts of a token are in fp32 and in their order.
//   x, y [tokens, width]; rows [tokens * k, width]; chosen, weights [tokens, k]; row weights
//   [tokens * k]. Dropped tokens have no rows, and the space after the last row is not touched.
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

// counts[e] is the number of tokens that expert e accepts. With a capacity each expert accepts the
// tokens with the largest weights, on ties the first ones, and `kept` is `chosen` with -1 for
// dropped tokens. `load` [2 experts] (fp32, optional: may be empty) adds the number of tokens that
// chose each expert, then the number that it accepted.
void expert_counts(const ExpertCountsShape& shape,
                   ConstTensorView chosen,
                   ConstTensorView weights,
                   TensorView counts,
                   TensorView kept,
                   TensorView load);

// Orders the rows of x, and the weights, by expert. Without `weights` only the rows.
void permute(const ExpertRows& shape,
             ConstTensorView x,
             ConstTensorView weights,
             ConstTensorView chosen,
             TensorView rows,
             TensorView row_weights);
// y = the sum of each token's rows. Also returns the weights to the tokens: 0 if dropped.
void unpermute(const ExpertRows& shape,
               ConstTensorView rows,
               ConstTensorView row_weights,
               ConstTensorView chosen,
               TensorView y,
               TensorView weights);

// bias[e] += rate * sign(mean load - load[e]), for the first `experts` elements of load (Wang et
// al., arXiv 2408.15664, algorithm 1).
void expert_bias(std::int64_t experts, float rate, ConstTensorView load, TensorView bias);

}  // namespace orrery::cpu
