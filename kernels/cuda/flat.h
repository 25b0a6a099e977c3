// SPDX-License-Identifier: Apache-2.0
// Passes over flat memory: every thread takes kFlatStep consecutive elements, 16-byte accesses
// where all operands are 16-byte aligned, then strides over the grid; a ragged end is done one by
// one.
#pragma once

#include "kernels/cuda/elements.h"
#include "kernels/cuda/queue.h"

namespace orrery::device {

inline constexpr int kFlatStep = 8;
inline constexpr int kFlatThreads = 256;

inline bool aligned(ConstTensorView view) {
    return reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
}
template <class T>
const T* elements(ConstTensorView view) {
    return reinterpret_cast<const T*>(view.data);
}
template <class T>
T* elements(TensorView view) {
    return reinterpret_cast<T*>(view.data);
}

// fp32 or bf16, told apart on the device. Not written to where the view is constant.
inline Elements any_elements(ConstTensorView view) {
    ORRERY_CHECK(view.empty() || view.dtype == Dtype::fp32 || view.dtype == Dtype::bf16);
    return {view.empty() ? nullptr : const_cast<std::byte*>(view.data), view.dtype == Dtype::bf16};
}

// A block takes kFlatThreads * kFlatStep elements at a time; at most enough blocks to fill any
// device several times, so that blocks are few and long.
inline Geometry flat_geometry(std::int64_t size) {
    constexpr std::int64_t kBlocksMax = 4096;
    constexpr std::int64_t kPerBlock = kFlatThreads * kFlatStep;
    return {.blocks_x = std::min(kBlocksMax, (size + kPerBlock - 1) / kPerBlock),
            .threads = kFlatThreads};
}

// Calls work(first, count) for this thread's steps of `size` elements; count is kFlatStep as a
// constant for whole steps if `vector`, else 1.
template <class Block, class Work>
ORRERY_DEVICE void for_flat(Block& block, std::int64_t size, bool vector, const Work& work) {
    const std::int64_t thread = block.x() * block.threads() + block.thread();
    const std::int64_t threads = block.blocks_x() * block.threads();
    const std::int64_t whole = vector ? size / kFlatStep * kFlatStep : 0;
    for (std::int64_t i = thread * kFlatStep; i < whole; i += threads * kFlatStep) {
        work.template operator()<kFlatStep>(i);
    }
    for (std::int64_t i = whole + thread; i < size; i += threads) {
        work.template operator()<1>(i);
    }
}

// Calls with_type(T*) for the element type: float or Bf16.
template <class Do>
void for_dtype(Dtype dtype, const Do& with_type) {
    ORRERY_CHECK(dtype == Dtype::fp32 || dtype == Dtype::bf16);
    if (dtype == Dtype::bf16) {
        with_type(static_cast<Bf16*>(nullptr));
    } else {
        with_type(static_cast<float*>(nullptr));
    }
}

}  // namespace orrery::device
