// SPDX-License-Identifier: Apache-2.0
// Table look-up of `tokens` rows, and its gradient: rows summed into an fp32 gradient table.
// `vocab` is the number of rows on this device.
//   dims = {tokens, hidden, vocab}; dtype = of the activations; variant = 0.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

inline constexpr std::int64_t kTokenIdSize = 4;

inline KernelCall embedding_forward(std::int64_t tokens,
                                    std::int64_t hidden,
                                    std::int64_t vocab,
                                    Dtype dtype) {
    return memory_bound_call(KernelKind::embedding_forward,
                             dtype,
                             0,
                             {tokens, hidden, vocab},
                             0.0,
                             2 * tokens * hidden * size_bytes(dtype) + tokens * kTokenIdSize);
}

inline KernelCall embedding_backward(std::int64_t tokens,
                                     std::int64_t hidden,
                                     std::int64_t vocab,
                                     Dtype dtype) {
    return memory_bound_call(KernelKind::embedding_backward,
                             dtype,
                             0,
                             {tokens, hidden, vocab},
                             element_count(tokens, hidden),
                             tokens * hidden * (size_bytes(dtype) + 2 * size_bytes(Dtype::fp32)) +
                                 tokens * kTokenIdSize);
}

}  // namespace orrery
