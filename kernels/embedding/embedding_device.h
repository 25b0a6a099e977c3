// SPDX-License-Identifier: Apache-2.0
// Kernels of kernels/embedding/embedding_cuda.h.
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

// An id with this number of tokens counts as frequent: the most common ids of a text have
// thousands.
inline constexpr int kFrequentTokens = 32;

// Sums the rows of doutput per id. The tokens are sorted by id: a block takes a place where an id
// begins, and sums all tokens of the id in order. Frequent ids have a kernel of their own
// (kFrequent) that copies rows through shared memory. Otherwise a single block would wait for its
// loads, because the compiler keeps only two loads into registers in flight.
template <class T, bool kFrequent>
struct EmbeddingBackwardKernel {
    static constexpr int kThreadsMax = kPassThreads;
    static constexpr int kGroup = kFrequentTokens / 2;  // rows copied at a time
    static constexpr int kPartBytes = kPassWidth * static_cast<int>(sizeof(T));  // per thread
    static constexpr int kGroupBytes = kGroup * kPassThreads * kPartBytes;
    static constexpr int kSharedBytes = kFrequent ? 2 * kGroupBytes : 0;
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
            if (begins && row >= 0 && row < shape.rows &&
                is_of(id, i + kFrequentTokens - 1) == kFrequent) {
                add_row(block, i, id, row);
            }
        }
    }

    ORRERY_DEVICE bool is_of(std::uint64_t id, std::int64_t place) const {
        return place < shape.tokens && keys[place] >> 32 == id;
    }
    ORRERY_DEVICE const T* row_at(std::int64_t place, std::int64_t column) const {
        const auto token = static_cast<std::int64_t>(keys[place] & 0xFFFFFFFFu);
        return doutput + token * shape.hidden + column;
    }

    template <class Block>
    ORRERY_DEVICE void add_row(Block& block,
                               std::int64_t first,
                               std::uint64_t id,
                               std::int64_t row) const {
        for_own_columns(block, shape.hidden, vector, [&]<int kWidth>(std::int64_t column) {
            float sums[kWidth] = {};
            if constexpr (kFrequent && kWidth == kPassWidth) {
                add_groups(block, first, id, column, sums);
            } else {
                for (std::int64_t i = first; is_of(id, i); ++i) {
                    float values[kWidth];
                    load(row_at(i, column), values);
                    add_values(values, sums);
                }
            }
            dtable.add(row * shape.hidden + column, sums);
        });
    }

    // A thread reads only its own copies, so that no barrier is needed.
    template <class Block>
    ORRERY_DEVICE void add_groups(Block& block,
                                  std::int64_t first,
                                  std::uint64_t id,
                                  std::int64_t column,
                                  float (&sums)[kPassWidth]) const {
        std::byte* own = block.shared() + block.thread() * kPartBytes;
        copy_group(block, first, id, column, own);
        std::byte* next = own + kGroupBytes;
        for (std::int64_t i = first; is_of(id, i); i += kGroup) {
            copy_group(block, i + kGroup, id, column, next);
            block.template wait<1>();
            if (is_of(id, i + kGroup - 1)) {
                ORRERY_UNROLL
                for (int t = 0; t < kGroup; ++t) {
                    add_copied(own, t, sums);
                }
            } else {
                for (int t = 0; is_of(id, i + t); ++t) {
                    add_copied(own, t, sums);
                }
            }
            std::byte* const read = own;
            own = next;
            next = read;
        }
        block.template wait<0>();
    }
    ORRERY_DEVICE static void add_copied(const std::byte* group, int t, float (&sums)[kPassWidth]) {
        float values[kPassWidth];
        load(reinterpret_cast<const T*>(group + t * kPassThreads * kPartBytes), values);
        add_values(values, sums);
    }
    template <class Block>
    ORRERY_DEVICE void copy_group(Block& block,
                                  std::int64_t first,
                                  std::uint64_t id,
                                  std::int64_t column,
                                  std::byte* to) const {
        const T* from[kGroup];
        ORRERY_UNROLL
        for (int t = 0; t < kGroup; ++t) {
            from[t] = is_of(id, first + t) ? row_at(first + t, column) : nullptr;
        }
        ORRERY_UNROLL
        for (int t = 0; t < kGroup; ++t) {
            ORRERY_UNROLL
            for (int part = 0; part < kPartBytes; part += 16) {
                block.copy_async(to + t * kPassThreads * kPartBytes + part,
                                 from[t] != nullptr
                                     ? reinterpret_cast<const std::byte*>(from[t]) + part
                                     : reinterpret_cast<const std::byte*>(doutput),
                                 from[t] != nullptr);
            }
        }
        block.commit();
    }
    template <int kWidth>
    ORRERY_DEVICE static void add_values(const float (&values)[kWidth], float (&sums)[kWidth]) {
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            sums[i] += values[i];
        }
    }
};

// Forward: x += the table's row of the position. Backward: the gradient table's row += the sum of
// dx over the sequences.
template <class T>
struct PositionKernel {
    static constexpr int kThreadsMax = kPassThreads;
    cpu::PositionShape shape;
    bool vector;
    bool backward;
    T* x;  // read only in the backward pass
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
                if (backward) {
                    table.add(at, sums);
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
    const bool vector = vector_rows(shape.hidden, {doutput, dtable});
    auto* scratch = reinterpret_cast<std::uint64_t*>(queue.scratch(2 * shape.tokens * 8));
    const std::uint64_t* keys =
        sort_tokens(queue, elements<std::int32_t>(token_ids), shape.tokens, scratch);
    Geometry geometry = row_pass_geometry(shape.tokens, shape.hidden, vector);
    geometry.blocks_y = std::min<std::int64_t>(shape.tokens, 0xFFFF);
    const auto launch = [&]<class T, bool kFrequent>(T*, std::bool_constant<kFrequent>) {
        using Kernel = EmbeddingBackwardKernel<T, kFrequent>;
        geometry.shared_bytes = Kernel::kSharedBytes;
        queue.launch(Kernel{.shape = shape,
                            .vector = vector,
                            .keys = keys,
                            .doutput = elements<T>(doutput),
                            .dtable = any_elements(dtable)},
                     geometry);
    };
    for_dtype(doutput.dtype, [&]<class T>(T* type) {
        launch(type, std::false_type{});
        if (shape.tokens >= kFrequentTokens) {
            launch(type, std::true_type{});
        }
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
