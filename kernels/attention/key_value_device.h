// SPDX-License-Identifier: Apache-2.0
// Kernels on the key and value columns of packed Q, K and V, the last columns of every row: copy
// them into a block that travels, add a block of gradients to them, clear them, and replace them by
// a block.
#pragma once

#include "kernels/attention/attention_cuda.h"
#include "kernels/cuda/row_pass.h"

namespace orrery::device {

enum class KeyValueWork : std::uint8_t { add, clear };

template <class T>
struct KeyValueKernel {
    static constexpr int kThreadsMax = kPassThreads;
    KeyValueWork work;
    std::int64_t rows;
    std::int64_t width;  // number of these columns
    std::int64_t packed_width;
    bool vector;
    T* packed;  // the first row's key and value columns
    T* block;   // [rows, width]

    template <class Block>
    ORRERY_DEVICE void operator()(Block& own) const {
        for_own_columns(own, width, vector, [&]<int kWidth>(std::int64_t column) {
            for (std::int64_t row = own.y(); row < rows; row += own.blocks_y()) {
                T* place = packed + row * packed_width + column;
                T* other = block + row * width + column;
                float values[kWidth] = {};
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

// Copies `width` columns of each row of one matrix into another matrix.
template <class T>
struct ColumnCopyKernel {
    static constexpr int kThreadsMax = kPassThreads;
    std::int64_t rows;
    std::int64_t width;
    std::int64_t from_width;  // width of a whole row
    std::int64_t to_width;
    bool vector;
    const T* from;  // the first row's columns
    T* to;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& own) const {
        for_own_columns(own, width, vector, [&]<int kWidth>(std::int64_t column) {
            for (std::int64_t row = own.y(); row < rows; row += own.blocks_y()) {
                float values[kWidth];
                load(from + row * from_width + column, values);
                store(to + row * to_width + column, values);
            }
        });
    }
};

struct Columns {
    ConstTensorView matrix;
    std::int64_t first = 0;
};

template <class Queue>
void copy_columns(
    Queue& queue, std::int64_t rows, std::int64_t width, const Columns& from, const Columns& to) {
    const std::int64_t from_width = from.matrix.size / rows;
    const std::int64_t to_width = to.matrix.size / rows;
    ORRERY_CHECK(from.matrix.dtype == to.matrix.dtype && width > 0);
    ORRERY_CHECK(from.first + width <= from_width && to.first + width <= to_width);
    bool vector = vector_rows(width, {from.matrix, to.matrix});
    for (const std::int64_t n : {from_width, to_width, from.first, to.first}) {
        vector = vector && n % kPassWidth == 0;
    }
    for_dtype(from.matrix.dtype, [&]<class T>(T*) {
        queue.launch(ColumnCopyKernel<T>{.rows = rows,
                                         .width = width,
                                         .from_width = from_width,
                                         .to_width = to_width,
                                         .vector = vector,
                                         .from = elements<T>(from.matrix) + from.first,
                                         .to = const_cast<T*>(elements<T>(to.matrix)) + to.first},
                     row_pass_geometry(rows, width, vector));
    });
}

template <class Queue>
void copy_key_value(Queue& queue, std::int64_t width, ConstTensorView packed, TensorView block) {
    const std::int64_t rows = block.size / width;
    copy_columns(queue, rows, width, {packed, packed.size / rows - width}, {block});
}

template <class Queue>
void join_key_value(Queue& queue,
                    std::int64_t tokens,
                    ConstTensorView queries,
                    ConstTensorView block,
                    TensorView packed) {
    const std::int64_t width = block.size / tokens;
    const std::int64_t rest = packed.size / tokens - width;
    copy_columns(queue, tokens, rest, {queries}, {packed});
    copy_columns(queue, tokens, width, {block}, {packed, rest});
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
