// SPDX-License-Identifier: Apache-2.0
// The key and value columns of packed Q, K and V, which are the last ones of every row: into a
// block that travels round a ring, the gradients of a block back onto them, and zeros.
#pragma once

#include "kernels/attention/attention_cuda.h"
#include "kernels/cuda/row_pass.h"

namespace orrery::device {

enum class KeyValueWork : std::uint8_t { copy, add, clear };

template <class T>
struct KeyValueKernel {
    static constexpr int kThreadsMax = kPassThreads;
    KeyValueWork work;
    std::int64_t rows;
    std::int64_t width;  // of the columns
    std::int64_t packed_width;
    bool vector;
    T* packed;  // of the first row's columns
    T* block;   // [rows, width]

    template <class Block>
    ORRERY_DEVICE void operator()(Block& own) const {
        for_own_columns(own, width, vector, [&]<int kWidth>(std::int64_t column) {
            for (std::int64_t row = own.y(); row < rows; row += own.blocks_y()) {
                T* place = packed + row * packed_width + column;
                T* other = block + row * width + column;
                float values[kWidth] = {};
                if (work == KeyValueWork::copy) {
                    load(place, values);
                    store(other, values);
                    continue;
                }
                if (work == KeyValueWork::add) {
                    float more[kWidth];
                    load(place, values);
                    load(other, more);
                    ORRERY_UNROLL
                    for (int i = 0; i < kWidth; ++i) {
                        values[i] += more[i];
                    }
                }
                store(place, values);
            }
        });
    }
};

template <class Queue>
void launch_key_value(Queue& queue,
                      KeyValueWork work,
                      std::int64_t rows,
                      std::int64_t width,
                      ConstTensorView packed,
                      ConstTensorView block) {
    const std::int64_t packed_width = packed.size / rows;
    const std::int64_t first = packed_width - width;
    ORRERY_CHECK(first >= 0 && packed.size == rows * packed_width);
    ORRERY_CHECK(block.empty() || (block.dtype == packed.dtype && block.size == rows * width));
    const bool vector = vector_rows(width, {packed, block}) && packed_width % kPassWidth == 0;
    for_dtype(packed.dtype, [&]<class T>(T*) {
        queue.launch(KeyValueKernel<T>{.work = work,
                                       .rows = rows,
                                       .width = width,
                                       .packed_width = packed_width,
                                       .vector = vector,
                                       .packed = const_cast<T*>(elements<T>(packed)) + first,
                                       .block = const_cast<T*>(elements<T>(block))},
                     row_pass_geometry(rows, width, vector));
    });
}

template <class Queue>
void copy_key_value(Queue& queue, std::int64_t width, ConstTensorView packed, TensorView block) {
    launch_key_value(queue, KeyValueWork::copy, block.size / width, width, packed, block);
}

template <class Queue>
void add_key_value(Queue& queue, std::int64_t width, ConstTensorView block, TensorView packed) {
    launch_key_value(queue, KeyValueWork::add, block.size / width, width, packed, block);
}

template <class Queue>
void clear_key_value(Queue& queue, std::int64_t tokens, std::int64_t width, TensorView packed) {
    launch_key_value(queue, KeyValueWork::clear, tokens, width, packed, {});
}

}  // namespace orrery::device
