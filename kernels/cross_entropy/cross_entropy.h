// SPDX-License-Identifier: Apache-2.0
// Cross-entropy over the logits [tokens, vocab_local]. Fused: one read of the logits forward
// (online maximum and sum), one read and write backward (the gradient overwrites the logits).
// Unfused: the chain of kernels of Megatron-LM's vocab_parallel_cross_entropy on an fp32 copy of
// the logits.
//   dims = {tokens, vocab_local}; dtype = of the logits; variant: 1 fused, 0 unfused,
//   2 a metric: the loss alone, by torch.nn.functional.cross_entropy under autocast.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

inline KernelCall cross_entropy_forward(std::int64_t tokens,
                                        std::int64_t vocab_local,
                                        Dtype dtype,
                                        bool fused) {
    // Bytes per element, unfused: copy to fp32 (size + 4), maximum 4, subtraction 8, exponential 8,
    // sum 4, division 8.
    const std::int64_t size = size_bytes(dtype);
    return memory_bound_call(KernelKind::cross_entropy_forward,
                             dtype,
                             fused ? 1 : 0,
                             {tokens, vocab_local},
                             5.0 * element_count(tokens, vocab_local),
                             tokens * vocab_local * (fused ? size : size + 36));
}

// Bytes per element: copy to fp32 (size + 4), log-softmax 8; picking the targets is negligible.
inline KernelCall loss_metric(std::int64_t tokens, std::int64_t vocab_local, Dtype dtype) {
    return memory_bound_call(KernelKind::cross_entropy_forward,
                             dtype,
                             2,
                             {tokens, vocab_local},
                             5.0 * element_count(tokens, vocab_local),
                             tokens * vocab_local * (size_bytes(dtype) + 12));
}

inline KernelCall cross_entropy_backward(std::int64_t tokens,
                                         std::int64_t vocab_local,
                                         Dtype dtype,
                                         bool fused) {
    // Bytes per element, unfused: product with the incoming gradient in fp32 (8), copy back (4 +
    // size).
    const std::int64_t size = size_bytes(dtype);
    return memory_bound_call(KernelKind::cross_entropy_backward,
                             dtype,
                             fused ? 1 : 0,
                             {tokens, vocab_local},
                             4.0 * element_count(tokens, vocab_local),
                             tokens * vocab_local * (fused ? 2 * size : 12 + size));
}

}  // namespace orrery
