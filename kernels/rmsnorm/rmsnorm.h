// SPDX-License-Identifier: Apache-2.0
// RMSNorm over the hidden dimension. Forward reads x and writes y and the row statistics (fp32);
// with the residual fused it also reads the other summand and writes the sum. Backward reads dy and
// x and writes dx; fused, it adds the gradient that came along the residual.
//   dims = {tokens, hidden}; dtype = of x and y; variant = fused_residual.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

inline KernelCall rmsnorm_forward(std::int64_t tokens,
                                  std::int64_t hidden,
                                  Dtype dtype,
                                  bool fused_residual = false) {
    const std::int64_t size = size_bytes(dtype);
    return memory_bound_call(
        KernelKind::rmsnorm_forward,
        dtype,
        fused_residual ? 1 : 0,
        {tokens, hidden},
        5.0 * element_count(tokens, hidden),
        tokens * hidden * size * (fused_residual ? 4 : 2) + 1 * hidden * size + tokens * 4);
}

inline KernelCall rmsnorm_backward(std::int64_t tokens,
                                   std::int64_t hidden,
                                   Dtype dtype,
                                   bool fused_residual = false) {
    const std::int64_t size = size_bytes(dtype);
    return memory_bound_call(
        KernelKind::rmsnorm_backward,
        dtype,
        fused_residual ? 1 : 0,
        {tokens, hidden},
        10.0 * element_count(tokens, hidden),
        tokens * hidden * size * (fused_residual ? 4 : 3) + 2 * 1 * hidden * size + tokens * 4);
}

}  // namespace orrery
