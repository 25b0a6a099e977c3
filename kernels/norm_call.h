// SPDX-License-Identifier: Apache-2.0
// The work of LayerNorm and RMSNorm on the rows of a [tokens, hidden] matrix. Forward reads x and
// writes y and the row statistics (fp32). With a fused residual it also reads the other summand and
// writes the sum. Backward reads dy and x and writes dx; if fused, it adds the gradient of the
// residual.
//   dims = {tokens, hidden}; dtype = of x and y; variant = fused_residual.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

struct NormWork {
    KernelKind forward;
    KernelKind backward;
    std::int64_t vectors;  // learnt vectors of `hidden` values, and also statistics per row
    double forward_flops;  // per element
    double backward_flops;
};

inline KernelCall norm_forward(const NormWork& norm,
                               std::int64_t tokens,
                               std::int64_t hidden,
                               Dtype dtype,
                               bool fused_residual) {
    const std::int64_t size = size_bytes(dtype);
    return memory_bound_call(norm.forward,
                             dtype,
                             fused_residual ? 1 : 0,
                             {tokens, hidden},
                             norm.forward_flops * element_count(tokens, hidden),
                             tokens * hidden * size * (fused_residual ? 4 : 2) +
                                 norm.vectors * (hidden * size + tokens * 4));
}

inline KernelCall norm_backward(const NormWork& norm,
                                std::int64_t tokens,
                                std::int64_t hidden,
                                Dtype dtype,
                                bool fused_residual) {
    const std::int64_t size = size_bytes(dtype);
    return memory_bound_call(norm.backward,
                             dtype,
                             fused_residual ? 1 : 0,
                             {tokens, hidden},
                             norm.backward_flops * element_count(tokens, hidden),
                             tokens * hidden * size * (fused_residual ? 4 : 3) +
                                 norm.vectors * (2 * hidden * size + tokens * 4));
}

}  // namespace orrery
