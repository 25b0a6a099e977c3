// SPDX-License-Identifier: Apache-2.0
// A change of layout: one pass over memory that reads a matrix and writes it in another order.
//   transpose: dims = {rows, columns}; variant = 0.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

inline KernelCall transpose(std::int64_t rows, std::int64_t columns, Dtype dtype) {
    return memory_bound_call(KernelKind::transpose,
                             dtype,
                             0,
                             {rows, columns},
                             0.0,
                             2 * rows * columns * size_bytes(dtype));
}

}  // namespace orrery
