// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/embedding/embedding_cuda.h.
#pragma once

#include "kernels/cuda/row_pass.h"
#include "kernels/embedding/embedding_cuda.h"
#include "kernels/embedding/token_sort_device.h"

namespace orrery::device {

template <class T>
struct EmbeddingForwardKernel {
    static constexpr int kThreadsMax = kPassThreads;
    cpu::EmbeddingShape shape;
    bool vector;
    const std::int32_t* ids;
    Elements table;
    T* output;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_own_columns(block, shape.hidden, vector, [&]<int kWidth>(std::int64_t column) {
            for (std::int64_t t = block.y(); t < shape.tokens; t += block.blocks_y()) {
                float values[kWidth] = {};
                const std::int64_t row = ids[t] - shape.first_row;
                if (row >= 0 && row < shape.rows) {
                    table.read(row * shape.hidden + column, values);
                }
                store(output + t * shape.hidden + column, values);
            }
        });
    }
};

// A block for every place in the sorted order; it works where a new id begins.
template <class T>
struct EmbeddingBackwardKernel {
    static constexpr int kThreadsMax = kPassThreads;
    static constexpr int kAtOnce = 4;
    cpu::EmbeddingShape shape;
    bool vector;
    const std::uint64_t* keys;
    const T* doutput;
    Elements dtable;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for (std::int64_t i = block.y(); i < shape.tokens; i += block.blocks_y()) {
            const std::uint64_t id = keys[i] >> 32;
            const std::int64_t row = static_cast<std::int64_t>(id) - shape.first_row;
            const bool begins = i == 0 || keys[i - 1] >> 32 != id;
            if (begins && row >= 0 && row < shape.rows) {
                add_row(block, i, id, row);
            }
        }
    }

    template <class Block>
    ORRERY_DEVICE void add_row(Block& block,
                               std::int64_t first,
                               std::uint64_t id,
                               std::int64_t row) const {
        for_own_columns(block, shape.hidden, vector, [&]<int kWidth>(std::int64_t column) {
            float sums[kWidth] = {};
            std::int64_t i = first;
            // Of a frequent id, several rows are on their way at a time.
            for (; i + kAtOnce <= shape.tokens && keys[i + kAtOnce - 1] >> 32 == id; i += kAtOnce) {
                add_tokens<kWidth, kAtOnce>(i, column, sums);
            }
            for (; i < shape.tokens && keys[i] >> 32 == id; ++i) {
                add_tokens<kWidth, 1>(i, column, sums);
            }
            const std::int64_t at = row * shape.hidden + column;
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                dtable.set(at + j, dtable.at(at + j) + sums[j]);
            }
        });
    }

    // sums += the rows of kTokens tokens from place i of the sorted order on, in order.
    template <int kWidth, int kTokens>
    ORRERY_DEVICE void add_tokens(std::int64_t i,
                                  std::int64_t column,
                                  float (&sums)[kWidth]) const {
        float values[kTokens][kWidth];
        ORRERY_UNROLL
        for (int t = 0; t < kTokens; ++t) {
            const auto token = static_cast<std::int64_t>(keys[i + t] & 0xFFFFFFFFu);
            load(doutput + token * shape.hidden + column, values[t]);
        }
        ORRERY_UNROLL
        for (int t = 0; t < kTokens; ++t) {
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                sums[j] += values[t][j];
            }
        }
    }
};

// Forward: x += table row of the position. Backward: dtable row += sum of dx over the sequences.
template <class T>
struct PositionKernel {
    static constexpr int kThreadsMax = kPassThreads;
    cpu::PositionShape shape;
    bool vector;
    bool backward;
    T* x;  // not written to in the backward pass
    Elements table;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_own_columns(block, shape.hidden, vector, [&]<int kWidth>(std::int64_t column) {
            for (std::int64_t s = block.y(); s < shape.sequence.length; s += block.blocks_y()) {
                const std::int64_t at = shape.sequence.of(s) * shape.hidden + column;
                float sums[kWidth] = {};
                if (!backward) {
                    table.read(at, sums);
                }
                for (std::int64_t b = 0; b < shape.batch; ++b) {
                    T* own = x + (s * shape.batch + b) * shape.hidden + column;
                    float values[kWidth];
                    load(own, values);
                    ORRERY_UNROLL
                    for (int i = 0; i < kWidth; ++i) {
                        values[i] += sums[i];
                        sums[i] = backward ? values[i] : sums[i];
                    }
                    if (!backward) {
                        store(own, values);
                    }
                }
                for (int i = 0; backward && i < kWidth; ++i) {
                    table.set(at + i, table.at(at + i) + sums[i]);
                }
            }
        });
    }
};

template <class Queue>
void embedding_forward(Queue& queue,
                       const cpu::EmbeddingShape& shape,
                       ConstTensorView token_ids,
                       ConstTensorView table,
                       TensorView output) {
    ORRERY_CHECK(token_ids.dtype == Dtype::int32);
    const bool vector = vector_rows(shape.hidden, {table, output});
    for_dtype(output.dtype, [&]<class T>(T*) {
        queue.launch(EmbeddingForwardKernel<T>{.shape = shape,
                                               .vector = vector,
                                               .ids = elements<std::int32_t>(token_ids),
                                               .table = any_elements(table),
                                               .output = elements<T>(output)},
                     row_pass_geometry(shape.tokens, shape.hidden, vector));
    });
}

template <class Queue>
void embedding_backward(Queue& queue,
                        const cpu::EmbeddingShape& shape,
                        ConstTensorView token_ids,
                        ConstTensorView doutput,
                        TensorView dtable) {
    ORRERY_CHECK(token_ids.dtype == Dtype::int32 && shape.tokens < (std::int64_t{1} << 31));
    const bool vector = vector_rows(shape.hidden, {doutput});
    auto* scratch = reinterpret_cast<std::uint64_t*>(queue.scratch(2 * shape.tokens * 8));
    const std::uint64_t* keys =
        sort_tokens(queue, elements<std::int32_t>(token_ids), shape.tokens, scratch);
    Geometry geometry = row_pass_geometry(shape.tokens, shape.hidden, vector);
    geometry.blocks_y = std::min<std::int64_t>(shape.tokens, 0xFFFF);
    for_dtype(doutput.dtype, [&]<class T>(T*) {
        queue.launch(EmbeddingBackwardKernel<T>{.shape = shape,
                                                .vector = vector,
                                                .keys = keys,
                                                .doutput = elements<T>(doutput),
                                                .dtable = any_elements(dtable)},
                     geometry);
    });
}

template <class Queue>
void launch_position(Queue& queue,
                     const cpu::PositionShape& shape,
                     bool backward,
                     ConstTensorView table,
                     ConstTensorView x) {
    const bool vector = vector_rows(shape.hidden, {table, x});
    for_dtype(x.dtype, [&]<class T>(T*) {
        queue.launch(PositionKernel<T>{.shape = shape,
                                       .vector = vector,
                                       .backward = backward,
                                       .x = const_cast<T*>(elements<T>(x)),
                                       .table = any_elements(table)},
                     row_pass_geometry(shape.sequence.length, shape.hidden, vector));
    });
}

template <class Queue>
void position_forward(Queue& queue,
                      const cpu::PositionShape& shape,
                      ConstTensorView table,
                      TensorView x) {
    launch_position(queue, shape, false, table, x);
}

template <class Queue>
void position_backward(Queue& queue,
                       const cpu::PositionShape& shape,
                       ConstTensorView dx,
                       TensorView dtable) {
    launch_position(queue, shape, true, dtable, dx);
}

}  // namespace orrery::device
