// SPDX-License-Identifier: Apache-2.0
// LayerNorm over the hidden dimension (kernels/norm_call.h).
#pragma once

#include "kernels/norm_call.h"

namespace orrery {

inline constexpr NormWork kLayerNorm{.forward = KernelKind::layernorm_forward,
                                     .backward = KernelKind::layernorm_backward,
                                     .vectors = 2,
                                     .forward_flops = 8.0,
                                     .backward_flops = 14.0};

inline KernelCall layernorm_forward(std::int64_t tokens,
                                    std::int64_t hidden,
                                    Dtype dtype,
                                    bool fused_residual = false) {
    return norm_forward(kLayerNorm, tokens, hidden, dtype, fused_residual);
}

inline KernelCall layernorm_backward(std::int64_t tokens,
                                     std::int64_t hidden,
                                     Dtype dtype,
                                     bool fused_residual = false) {
    return norm_backward(kLayerNorm, tokens, hidden, dtype, fused_residual);
}

}  // namespace orrery
