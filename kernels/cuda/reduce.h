// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over the lanes of a warp and the threads of a block, in an order that depends
// only on the number of threads.
#pragma once

#include "kernels/cuda/block.h"

namespace orrery::device {

struct Add {
    template <class T>
    ORRERY_DEVICE T operator()(T a, T b) const {
        return a + b;
    }
};
struct Larger {
    ORRERY_DEVICE float operator()(float a, float b) const { return a > b ? a : b; }
};

template <class T, class Block, class Operation = Add>
ORRERY_DEVICE T reduce_warp(Block& block, T value, Operation operation = {}) {
    ORRERY_UNROLL
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
        value = operation(value, block.shuffle_xor(value, mask));
    }
    return value;
}

// Bytes of shared memory that reduce_block() needs for kCount values of type T.
template <class T, int kCount>
inline constexpr int kReduceBytes = kWarp* kCount* static_cast<int>(sizeof(T));

// Every thread gets the results. `shared` may be reused only after a sync() of the block.
template <class T, int kCount, class Block, class Operation = Add>
ORRERY_DEVICE void reduce_block_once(Block& block,
                                     std::byte* shared,
                                     T (&values)[kCount],
                                     Operation operation = {}) {
    ORRERY_UNROLL
    for (int i = 0; i < kCount; ++i) {
        values[i] = reduce_warp(block, values[i], operation);
    }
    const int warps = block.threads() / kWarp;
    if (warps == 1) {
        return;
    }
    T* partial = reinterpret_cast<T*>(shared);
    if (block.lane() == 0) {
        ORRERY_UNROLL
        for (int i = 0; i < kCount; ++i) {
            partial[i * kWarp + block.warp()] = values[i];
        }
    }
    block.sync();
    ORRERY_UNROLL
    for (int i = 0; i < kCount; ++i) {
        values[i] = partial[i * kWarp];
        for (int warp = 1; warp < warps; ++warp) {
            values[i] = operation(values[i], partial[i * kWarp + warp]);
        }
    }
}

// Every thread gets the results. `shared` may be reused at once.
template <class T, int kCount, class Block, class Operation = Add>
ORRERY_DEVICE void reduce_block(Block& block,
                                std::byte* shared,
                                T (&values)[kCount],
                                Operation operation = {}) {
    reduce_block_once(block, shared, values, operation);
    if (block.threads() > kWarp) {
        block.sync();
    }
}

}  // namespace orrery::device
