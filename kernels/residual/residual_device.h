// SPDX-License-Identifier: Apache-2.0
// Kernels of kernels/residual/residual_cuda.h.
#pragma once

#include "kernels/cuda/column_sum.h"
#include "kernels/cuda/dropout_source.h"
#include "kernels/cuda/flat_sum.h"
#include "kernels/cuda/random_words.h"
#include "kernels/cuda/row_pass.h"
#include "kernels/residual/residual_cuda.h"

namespace orrery::device {

// sum = [residual +] dropout(branch + biases)
template <class T>
struct BranchKernel {
    static constexpr int kThreadsMax = kPassThreads;
    ValueShard shard;
    std::int64_t rows;
    DropoutSource dropout;
    bool drops;
    bool vector;
    const T* branch;
    Elements bias[2];
    const T* residual;  // may be null
    T* sum;
    std::byte* mask;  // may be null

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_own_columns(block, shard.width, vector, [&]<int kWidth>(std::int64_t column) {
            float shift[2][kWidth] = {};
            for (int b = 0; b < 2; ++b) {
                if (bias[b].present()) {
                    bias[b].read(column, shift[b]);
                }
            }
            const DropoutSource own = dropout.resolved();
            for (std::int64_t token = block.y(); token < rows; token += block.blocks_y()) {
                float values[kWidth];
                const std::int64_t first = token * shard.width + column;
                load(branch + first, values);
                add_shifts<kWidth>(first, shift, values);
                if (drops) {
                    drop<kWidth>(own, token, column, values);
                }
                if (residual != nullptr && drops) {
                    add_residual<kWidth>(first, values);
                }
                store(sum + first, values);
            }
        });
    }

    // Without dropout: residual + branch, then the biases, in the order of residual_add.
    template <int kWidth>
    ORRERY_DEVICE void add_shifts(std::int64_t first,
                                  const float (&shift)[2][kWidth],
                                  float (&values)[kWidth]) const {
        if (residual != nullptr && !drops) {
            add_residual<kWidth>(first, values);
        }
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            values[i] = values[i] + shift[0][i] + shift[1][i];
        }
    }
    template <int kWidth>
    ORRERY_DEVICE void add_residual(std::int64_t first, float (&values)[kWidth]) const {
        float other[kWidth];
        load(residual + first, other);
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            values[i] += other[i];
        }
    }
    template <int kWidth>
    ORRERY_DEVICE void drop(const DropoutSource& own,
                            std::int64_t token,
                            std::int64_t column,
                            float (&values)[kWidth]) const {
        WordStream words{own.key, shard.row_start(token) + column};
        const float scale = 1.0f / (1.0f - own.rate);
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            const bool kept = uniform_of(words()) >= own.rate;
            values[i] = kept ? values[i] * scale : 0.0f;
            if (mask != nullptr) {
                mask[token * shard.width + column + i] = static_cast<std::byte>(kept);
            }
        }
    }
};

// dx = dy / (1 - rate) where the mask has a 1, else 0.
template <class T>
struct MaskedKernel {
    static constexpr int kThreadsMax = kFlatThreads;
    DropoutSource dropout;
    const std::byte* mask;
    const T* dy;
    T* dx;
    std::int64_t size;
    bool vector;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const float scale = 1.0f / (1.0f - dropout.resolved().rate);
        for_flat(block, size, vector, [this, scale]<int kCount>(std::int64_t i) {
            float values[kCount];
            load(dy + i, values);
            ORRERY_UNROLL
            for (int j = 0; j < kCount; ++j) {
                values[j] = mask[i + j] == std::byte{0} ? 0.0f : scale * values[j];
            }
            store(dx + i, values);
        });
    }
};

inline constexpr int kBiasRowsAtOnce = 4;  // rows that a thread loads at once

// Column sums over every blocks_y-th row of dy.
template <class T>
struct BiasPartialKernel {
    static constexpr int kThreadsMax = kPassThreads;
    std::int64_t rows;
    std::int64_t columns;
    bool vector;
    const T* dy;
    float* partial;  // [blocks_y, columns]

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_own_columns(block, columns, vector, [&]<int kWidth>(std::int64_t column) {
            float sums[kWidth] = {};
            for_own_rows<kBiasRowsAtOnce>(
                block, rows, [&]<int kRows>(std::int64_t row, std::int64_t step) {
                    float values[kRows][kWidth];
                    ORRERY_UNROLL
                    for (int r = 0; r < kRows; ++r) {
                        load(dy + (row + r * step) * columns + column, values[r]);
                    }
                    ORRERY_UNROLL
                    for (int i = 0; i < kRows * kWidth; ++i) {
                        sums[i % kWidth] += values[i / kWidth][i % kWidth];
                    }
                });
            store(partial + block.y() * columns + column, sums);
        });
    }
};

template <class Queue>
void residual_add(Queue& queue, ConstTensorView a, ConstTensorView b, TensorView sum) {
    flat_sum(queue, a, b, sum);
}

template <class Queue>
void launch_branch(Queue& queue,
                   const ValueShard& shard,
                   const DropoutSource& dropout,
                   std::span<const ConstTensorView> biases,
                   const cpu::BiasDropoutAdd& x) {
    ORRERY_CHECK(x.sum.dtype == x.branch.dtype && biases.size() <= 2);
    ORRERY_CHECK(x.residual.empty() || x.residual.dtype == x.branch.dtype);
    ORRERY_CHECK(dropout.rate >= 0.0f && dropout.rate < 1.0f);
    const ConstTensorView first = biases.empty() ? ConstTensorView{} : biases[0];
    const ConstTensorView second = biases.size() < 2 ? ConstTensorView{} : biases[1];
    const bool vector = vector_rows(shard.width, {x.branch, x.residual, x.sum, first, second});
    const std::int64_t rows = shard.tokens();
    for_dtype(x.branch.dtype, [&]<class T>(T*) {
        queue.launch(
            BranchKernel<T>{.shard = shard,
                            .rows = rows,
                            .dropout = dropout,
                            .drops = dropout.rate > 0.0f || dropout.scalars != nullptr,
                            .vector = vector,
                            .branch = elements<T>(x.branch),
                            .bias = {any_elements(first), any_elements(second)},
                            .residual = x.residual.empty() ? nullptr : elements<T>(x.residual),
                            .sum = elements<T>(x.sum),
                            .mask = x.mask.empty() ? nullptr : x.mask.data},
            row_pass_geometry(rows, shard.width, vector));
    });
}

template <class Queue>
void residual_add_biases(Queue& queue,
                         std::int64_t width,
                         ConstTensorView a,
                         ConstTensorView b,
                         std::span<const ConstTensorView> biases,
                         TensorView sum) {
    if (biases.empty()) {
        residual_add(queue, a, b, sum);
        return;
    }
    const ValueShard shard{.sequence = contiguous_positions(sum.size / width), .width = width};
    launch_branch(queue, shard, {}, biases, {.branch = b, .residual = a, .sum = sum});
}

template <class Queue>
void bias_dropout_add(Queue& queue,
                      const ValueShard& shard,
                      const DropoutSource& dropout,
                      const cpu::BiasDropoutAdd& operands,
                      ConstTensorView second_bias) {
    const ConstTensorView biases[] = {operands.bias, second_bias};
    launch_branch(queue, shard, dropout, biases, operands);
}

template <class Queue>
void dropout_forward(Queue& queue,
                     const ValueShard& shard,
                     const DropoutSource& dropout,
                     ConstTensorView x,
                     TensorView y,
                     TensorView mask) {
    launch_branch(queue, shard, dropout, {}, {.branch = x, .residual = {}, .sum = y, .mask = mask});
}

template <class Queue>
void masked_gradient(Queue& queue,
                     const DropoutSource& dropout,
                     ConstTensorView mask,
                     ConstTensorView dy,
                     TensorView dx) {
    ORRERY_CHECK(mask.dtype == Dtype::uint8 && mask.size == dy.size && dx.dtype == dy.dtype);
    for_dtype(dy.dtype, [&]<class T>(T*) {
        queue.launch(MaskedKernel<T>{.dropout = dropout,
                                     .mask = mask.data,
                                     .dy = elements<T>(dy),
                                     .dx = elements<T>(dx),
                                     .size = dy.size,
                                     .vector = aligned(dy) && aligned(dx)},
                     flat_geometry(dy.size));
    });
}

template <class Queue>
void bias_gradient(
    Queue& queue, std::int64_t tokens, std::int64_t columns, ConstTensorView dy, TensorView dbias) {
    const bool vector = vector_rows(columns, {dy});
    Geometry geometry = row_pass_geometry(tokens, columns, vector);
    // Enough threads for an H100, with a few rows each; more would only add partial sums.
    constexpr std::int64_t kBlocks = 132 * 8;
    geometry.blocks_y = std::min({geometry.blocks_y,
                                  (kBlocks + geometry.blocks_x - 1) / geometry.blocks_x,
                                  (tokens + kBiasRowsAtOnce - 1) / kBiasRowsAtOnce});
    auto* partial = reinterpret_cast<float*>(queue.scratch(geometry.blocks_y * columns * 4));
    for_dtype(dy.dtype, [&]<class T>(T*) {
        queue.launch(BiasPartialKernel<T>{.rows = tokens,
                                          .columns = columns,
                                          .vector = vector,
                                          .dy = elements<T>(dy),
                                          .partial = partial},
                     geometry);
    });
    const ColumnSumKernel sum{.partial = partial,
                              .parts = geometry.blocks_y,
                              .columns = columns,
                              .gradient = any_elements(dbias)};
    queue.launch(sum, sum.geometry());
}

}  // namespace orrery::device
