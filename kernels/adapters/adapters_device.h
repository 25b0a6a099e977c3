// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/adapters/adapters_cuda.h, as in Punica: a first one shrinks each row to
// the rank, a warp a number; a second one expands it, a thread some columns. Both are bound by
// reading A and B; rows of one adapter find them in the L2 cache.
#pragma once

#include "kernels/adapters/adapters_cuda.h"
#include "kernels/cuda/row_pass.h"

namespace orrery::device {

inline constexpr int kShrinkThreads = 128;

// Sums over k: a lane takes kWidth neighbours at a time.
template <class T, int kWidth>
struct ShrinkKernel {
    static constexpr int kThreadsMax = kShrinkThreads;
    cpu::AdapterShape shape;
    const std::int32_t* numbers;
    const T* x;
    const T* a;
    float* inner;  // [rows, rank]

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t place = block.x() * (kShrinkThreads / kWarp) + block.warp();
        if (place >= shape.rows * shape.rank) {
            return;
        }
        const std::int64_t row = place / shape.rank;
        const std::int64_t number = numbers[row];
        if (number < 0) {
            return;
        }
        const T* left = x + row * shape.k;
        const T* right = a + (number * shape.rank + place % shape.rank) * shape.k;
        float sum = 0.0f;
        for (std::int64_t j = block.lane() * kWidth; j < shape.k; j += kWarp * kWidth) {
            float values[kWidth];
            float factors[kWidth];
            load(left + j, values);
            load(right + j, factors);
            ORRERY_UNROLL
            for (int i = 0; i < kWidth; ++i) {
                sum = fused(values[i], factors[i], sum);
            }
        }
        for (int mask = kWarp / 2; mask > 0; mask /= 2) {
            sum += block.shuffle_xor(sum, mask);
        }
        if (block.lane() == 0) {
            inner[place] = sum;
        }
    }
};

template <class T>
struct ExpandKernel {
    static constexpr int kThreadsMax = kPassThreads;
    cpu::AdapterShape shape;
    bool vector;
    const std::int32_t* numbers;
    const float* inner;
    const T* b;
    T* y;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& own) const {
        for_own_columns(own, shape.n, vector, [&]<int kWidth>(std::int64_t column) {
            for (std::int64_t row = own.y(); row < shape.rows; row += own.blocks_y()) {
                const std::int64_t number = numbers[row];
                if (number < 0) {
                    continue;
                }
                float sums[kWidth] = {};
                for (std::int64_t i = 0; i < shape.rank; ++i) {
                    float values[kWidth];
                    load(b + (number * shape.rank + i) * shape.n + column, values);
                    const float factor = inner[row * shape.rank + i];
                    ORRERY_UNROLL
                    for (int j = 0; j < kWidth; ++j) {
                        sums[j] = fused(factor, values[j], sums[j]);
                    }
                }
                T* to = y + row * shape.n + column;
                float values[kWidth];
                load(to, values);
                ORRERY_UNROLL
                for (int j = 0; j < kWidth; ++j) {
                    values[j] += sums[j];
                }
                store(to, values);
            }
        });
    }
};

template <class Queue>
void add_adapters(Queue& queue, const cpu::AdapterShape& shape, const cpu::AdapterOperands& x) {
    cpu::check_adapters(shape, x);
    ORRERY_CHECK(x.a.dtype == x.x.dtype && x.b.dtype == x.x.dtype && x.y.dtype == x.x.dtype);
    auto* inner = reinterpret_cast<float*>(queue.scratch(adapter_scratch_bytes(shape)));
    const auto* numbers = elements<std::int32_t>(x.numbers);
    constexpr std::int64_t kWarps = kShrinkThreads / kWarp;
    const Geometry shrink{.blocks_x = (shape.rows * shape.rank + kWarps - 1) / kWarps,
                          .threads = kShrinkThreads};
    const bool vector = vector_rows(shape.n, {x.b, x.y});
    for_dtype(x.x.dtype, [&]<class T>(T*) {
        const auto launch_shrink = [&]<int kWidth>() {
            queue.launch(ShrinkKernel<T, kWidth>{.shape = shape,
                                                 .numbers = numbers,
                                                 .x = elements<T>(x.x),
                                                 .a = elements<T>(x.a),
                                                 .inner = inner},
                         shrink);
        };
        if (vector_rows(shape.k, {x.x, x.a})) {
            launch_shrink.template operator()<kPassWidth>();
        } else {
            launch_shrink.template operator()<1>();
        }
        queue.launch(ExpandKernel<T>{.shape = shape,
                                     .vector = vector,
                                     .numbers = numbers,
                                     .inner = inner,
                                     .b = elements<T>(x.b),
                                     .y = elements<T>(x.y)},
                     row_pass_geometry(shape.rows, shape.n, vector));
    });
}

}  // namespace orrery::device
