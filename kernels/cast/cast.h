// SPDX-License-Identifier: Apache-2.0
// Change of element type. It has implementations between fp32 and bf16 only; what FP8 recipes add
// is there to be predicted: the maximum of the tensor (amax) for the scales of FP8 GEMMs, and a
// second, transposed copy for the backward pass (cast_transpose).
//   dims = {n} or {rows, columns}; dtype = from; variant = (dtype to) + 8 for cast_transpose.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

inline KernelCall cast(std::int64_t n, Dtype from, Dtype to) {
    return memory_bound_call(KernelKind::cast,
                             from,
                             static_cast<int>(to),
                             {n},
                             static_cast<double>(n),
                             n * (size_bytes(from) + size_bytes(to)));
}

inline KernelCall cast_transpose(std::int64_t rows, std::int64_t columns, Dtype from, Dtype to) {
    return memory_bound_call(KernelKind::cast,
                             from,
                             static_cast<int>(to) + 8,
                             {rows, columns},
                             element_count(rows, columns),
                             rows * columns * (size_bytes(from) + 2 * size_bytes(to)));
}

}  // namespace orrery
