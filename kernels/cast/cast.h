// SPDX-License-Identifier: Apache-2.0
// Change of element type. Only fp32 and bf16 have implementations. The parts of FP8 recipes exist
// for predictions: the maximum of the tensor (amax) for the scales of FP8 GEMMs, and a second,
// transposed copy for the backward pass (cast_transpose).
//   dims = {n} or {rows, columns}; dtype = from; variant = (dtype to) + 8 for cast_transpose,
//   + 16 for a kernel of PyTorch whose operands have several types: it converts them element by
//   element (c10::fetch_and_cast), whatever else it computes. FLOP = elements.
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

inline constexpr int kOneByOne = 16;

inline KernelCall converting(std::int64_t n, Dtype from, Dtype to) {
    KernelCall call = cast(n, from, to);
    call.variant = static_cast<std::uint8_t>(static_cast<int>(to) + kOneByOne);
    return call;
}

inline bool converts_one_by_one(const KernelCall& call) {
    return call.kind == KernelKind::cast && call.variant >= kOneByOne;
}

}  // namespace orrery
