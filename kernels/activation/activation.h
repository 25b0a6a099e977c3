// SPDX-License-Identifier: Apache-2.0
// Activations of the MLP, with the bias added in the same kernel. Ungated (GELU, squared ReLU): one
// input and one output of `ffn` columns. Gated (SwiGLU, GEGLU): the inputs gate and up, of `ffn`
// columns each.
//   dims = {tokens, ffn}; dtype = of input and output; variant: 0 GELU or SwiGLU, 1 squared ReLU or
//   GEGLU.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

inline KernelCall gelu_forward(std::int64_t tokens,
                               std::int64_t ffn,
                               Dtype dtype,
                               bool squared_relu = false) {
    return memory_bound_call(KernelKind::gelu_forward,
                             dtype,
                             squared_relu ? 1 : 0,
                             {tokens, ffn},
                             (squared_relu ? 2.0 : 10.0) * element_count(tokens, ffn),
                             2 * tokens * ffn * size_bytes(dtype));
}

inline KernelCall gelu_backward(std::int64_t tokens,
                                std::int64_t ffn,
                                Dtype dtype,
                                bool squared_relu = false) {
    return memory_bound_call(KernelKind::gelu_backward,
                             dtype,
                             squared_relu ? 1 : 0,
                             {tokens, ffn},
                             (squared_relu ? 3.0 : 16.0) * element_count(tokens, ffn),
                             3 * tokens * ffn * size_bytes(dtype));
}

inline KernelCall swiglu_forward(std::int64_t tokens,
                                 std::int64_t ffn,
                                 Dtype dtype,
                                 bool geglu = false) {
    return memory_bound_call(KernelKind::swiglu_forward,
                             dtype,
                             geglu ? 1 : 0,
                             {tokens, ffn},
                             (geglu ? 11.0 : 6.0) * element_count(tokens, ffn),
                             3 * tokens * ffn * size_bytes(dtype));
}

// Reads dy, gate and up; writes the gradients of gate and up.
inline KernelCall swiglu_backward(std::int64_t tokens,
                                  std::int64_t ffn,
                                  Dtype dtype,
                                  bool geglu = false) {
    return memory_bound_call(KernelKind::swiglu_backward,
                             dtype,
                             geglu ? 1 : 0,
                             {tokens, ffn},
                             (geglu ? 18.0 : 11.0) * element_count(tokens, ffn),
                             5 * tokens * ffn * size_bytes(dtype));
}

}  // namespace orrery
