// SPDX-License-Identifier: Apache-2.0
// Plain passes over memory: local reduction of received chunks, and changes of layout.
//   reduce_local: dims = {n, inputs}; transpose: dims = {rows, columns}; variant = 0.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

// result[n] = sum over `inputs` arrays.
inline KernelCall reduce_local(std::int64_t n, Dtype dtype, std::int64_t inputs = 2) {
    return memory_bound_call(KernelKind::reduce_local,
                             dtype,
                             0,
                             {n, inputs},
                             element_count(n, inputs - 1),
                             n * (inputs + 1) * size_bytes(dtype));
}

inline KernelCall transpose(std::int64_t rows, std::int64_t columns, Dtype dtype) {
    return memory_bound_call(KernelKind::transpose,
                             dtype,
                             0,
                             {rows, columns},
                             0.0,
                             2 * rows * columns * size_bytes(dtype));
}

}  // namespace orrery
