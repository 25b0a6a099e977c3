// SPDX-License-Identifier: Apache-2.0
// Operations on the residual stream: addition, dropout, and the gradient of a bias (column sums).
// bias_dropout_add is all three in one kernel.
//   dims = {tokens, hidden}; dtype = of the activations; variant of residual_add: 1 with dropout.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

// sum = a + b; also the sum of two gradients of activations.
inline KernelCall residual_add(std::int64_t tokens, std::int64_t hidden, Dtype dtype) {
    return memory_bound_call(KernelKind::residual_add,
                             dtype,
                             0,
                             {tokens, hidden},
                             element_count(tokens, hidden),
                             3 * tokens * hidden * size_bytes(dtype));
}

// Also writes the dropout mask, one byte per element.
inline KernelCall bias_dropout_add(std::int64_t tokens, std::int64_t hidden, Dtype dtype) {
    return memory_bound_call(KernelKind::residual_add,
                             dtype,
                             1,
                             {tokens, hidden},
                             4.0 * element_count(tokens, hidden),
                             tokens * hidden * (3 * size_bytes(dtype) + 1));
}

// Forward writes the mask and backward reads it, so that both cost the same.
inline KernelCall dropout(std::int64_t tokens, std::int64_t hidden, Dtype dtype) {
    return memory_bound_call(KernelKind::dropout,
                             dtype,
                             0,
                             {tokens, hidden},
                             2.0 * element_count(tokens, hidden),
                             tokens * hidden * (2 * size_bytes(dtype) + 1));
}

inline KernelCall bias_gradient(std::int64_t tokens, std::int64_t columns, Dtype dtype) {
    return memory_bound_call(KernelKind::bias_gradient,
                             dtype,
                             0,
                             {tokens, columns},
                             element_count(tokens, columns),
                             (tokens + 1) * columns * size_bytes(dtype));
}

}  // namespace orrery
