// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, in place, forward or backward (negative angle). `heads` is the number
// of query and key heads together. The table of angles stays in cache and is not counted.
//   dims = {tokens, heads, head_dim}; dtype = of Q and K; variant = 0.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

inline KernelCall rope(std::int64_t tokens,
                       std::int64_t heads,
                       std::int64_t head_dim,
                       Dtype dtype) {
    return memory_bound_call(KernelKind::rope,
                             dtype,
                             0,
                             {tokens, heads, head_dim},
                             3.0 * element_count(tokens, heads * head_dim),
                             2 * tokens * heads * head_dim * size_bytes(dtype));
}

}  // namespace orrery
