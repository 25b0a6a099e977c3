// SPDX-License-Identifier: Apache-2.0
// Passes over flat memory. Every thread processes kFlatStep consecutive elements, by 16-byte
// accesses if all operands are 16-byte aligned, then strides over the grid. A ragged end is
// processed element by element.
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

// fp32 or bf16, distinguished on the device. Do not write to them if the view is constant.
inline Elements any_elements(ConstTensorView view) {
    ORRERY_CHECK(view.empty() || view.dtype == Dtype::fp32 || view.dtype == Dtype::bf16);
    return {view.empty() ? nullptr : const_cast<std::byte*>(view.data), view.dtype == Dtype::bf16};
}

// A block processes kFlatThreads * kFlatStep elements at a time. The number of blocks is limited to
// several times the capacity of any device, so that blocks are few and long.
inline Geometry flat_geometry(std::int64_t size) {
    constexpr std::int64_t kBlocksMax = 4096;
    constexpr std::int64_t kPerBlock = kFlatThreads * kFlatStep;
    return {.blocks_x = std::min(kBlocksMax, (size + kPerBlock - 1) / kPerBlock),
            .threads = kFlatThreads};
}

// Calls work(first, count) for this thread's steps of `size` elements. With `vector`, count is the
// constant kFlatStep for whole steps, else 1.
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
