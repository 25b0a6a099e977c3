// SPDX-License-Identifier: Apache-2.0
// RMSNorm over the hidden dimension (kernels/norm_call.h).
#pragma once

#include "kernels/norm_call.h"

namespace orrery {

inline constexpr NormWork kRmsNorm{.forward = KernelKind::rmsnorm_forward,
                                   .backward = KernelKind::rmsnorm_backward,
                                   .vectors = 1,
                                   .forward_flops = 5.0,
                                   .backward_flops = 10.0};

inline KernelCall rmsnorm_forward(std::int64_t tokens,
                                  std::int64_t hidden,
                                  Dtype dtype,
                                  bool fused_residual = false) {
    return norm_forward(kRmsNorm, tokens, hidden, dtype, fused_residual);
}

inline KernelCall rmsnorm_backward(std::int64_t tokens,
                                   std::int64_t hidden,
                                   Dtype dtype,
                                   bool fused_residual = false) {
    return norm_backward(kRmsNorm, tokens, hidden, dtype, fused_residual);
}

}  // namespace orrery
