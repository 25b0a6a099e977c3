// SPDX-License-Identifier: Apache-2.0
// Operations on the residual stream on the CPU: addition, dropout, gradient of a bias. Activations
// are [tokens, width] row-major, each fp32 or bf16, computed in fp32. Dropout keeps an element if
// uniform(word) >= rate, and divides it by 1 - rate. The word is the Philox number of the key and
// the element's index in the WHOLE activation (kernels/value_shard.h), so that every sharding drops
// the same elements and the backward pass needs no stored mask. A mask tensor (uint8, 1 = kept) is
// written if given.
#pragma once

#include "kernels/random.h"
#include "kernels/tensor_view.h"
#include "kernels/value_shard.h"

namespace orrery::cpu {

struct DropoutArguments {
    RandomKey key;
    float rate = 0.0f;  // 0 <= rate < 1
};

// sum = a + b, `sum.size` elements; sum may be a or b.
void residual_add(ConstTensorView a, ConstTensorView b, TensorView sum);

// sum = a + b + biases[columns] …, rounded after each addition like `sum`.
void residual_add_biases(std::int64_t columns,
                         ConstTensorView a,
                         ConstTensorView b,
                         std::span<const ConstTensorView> biases,
                         TensorView sum);

// sum = residual + dropout(branch + bias). bias is [width] or empty; the mask is optional. sum may
// alias branch or residual.
struct BiasDropoutAdd {
    ConstTensorView branch;
    ConstTensorView bias{};
    ConstTensorView residual;
    TensorView sum;
    TensorView mask{};
};
void bias_dropout_add(const ValueShard& shard,
                      const DropoutArguments& dropout,
                      const BiasDropoutAdd& operands);

// y = dropout(x); y may alias x. Backward is the same function, applied to dy.
void dropout_forward(const ValueShard& shard,
                     const DropoutArguments& dropout,
                     ConstTensorView x,
                     TensorView y,
                     TensorView mask = {});

// dbias[columns] += column sums of dy [tokens, columns]; fp32 sums, rows in order.
void bias_gradient(std::int64_t tokens, std::int64_t columns, ConstTensorView dy, TensorView dbias);

}  // namespace orrery::cpu
