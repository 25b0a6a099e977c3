// SPDX-License-Identifier: Apache-2.0
// Change of element type; only between fp32 and bf16 has it implementations, what FP8 recipes add
// is there to be predicted. For FP8 GEMMs the kernel also takes the maximum of the tensor (amax), and
// cast_transpose writes a second, transposed copy for the backward pass.
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
