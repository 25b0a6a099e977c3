// SPDX-License-Identifier: Apache-2.0
// LayerNorm (kCentred) and RMSNorm on a GPU. A block processes a row at a time in the registers of
// its threads, kParts accesses of kWidth elements each, so that it reads global memory once. The
// backward pass also keeps the column sums of its rows in registers. A second kernel adds those of
// all blocks.
#pragma once

#include <cmath>

#include "kernels/cuda/column_sum.h"
#include "kernels/cuda/reduce.h"
#include "kernels/norm_operands.h"

namespace orrery::device {

inline constexpr int kNormThreads = 512;

// Blocks of the backward pass: enough rows at a time for the SMs of an H100. The number does not
// depend on the device, so that the order of the sums is the same everywhere.
inline std::int64_t norm_backward_blocks(std::int64_t tokens, int threads) {
    return std::min<std::int64_t>(tokens, 132 * std::max(2, 512 / threads));
}

// The elements of a row that a thread holds.
template <int kWidth, int kParts>
struct NormRow {
    static constexpr int kCount = kWidth * kParts;
    std::int64_t hidden;

    // Calls work(part, column) for each access of this thread.
    template <class Block, class Work>
    ORRERY_DEVICE void for_parts(Block& block, const Work& work) const {
        ORRERY_UNROLL
        for (int part = 0; part < kParts; ++part) {
            const int column = (part * block.threads() + block.thread()) * kWidth;
            if (column < hidden) {
                work(part, column);
            }
        }
    }
    template <class Values>
    static ORRERY_HOST_DEVICE void copy_to(const float (&part)[kWidth], Values& values, int at) {
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            values[at * kWidth + i] = part[i];
        }
    }
    template <class Values>
    static ORRERY_HOST_DEVICE void copy_from(const Values& values, int at, float (&part)[kWidth]) {
        ORRERY_UNROLL
        for (int i = 0; i < kWidth; ++i) {
            part[i] = values[at * kWidth + i];
        }
    }
    // The thread's elements of a row; zeros beyond the row's end.
    template <class T, class Block>
    ORRERY_DEVICE void load_row(Block& block, const T* row, float (&values)[kCount]) const {
        ORRERY_UNROLL
        for (int i = 0; i < kCount; ++i) {
            values[i] = 0.0f;
        }
        for_parts(block, [&](int part, int column) {
            float loaded[kWidth];
            load(row + column, loaded);
            copy_to(loaded, values, part);
        });
    }
};

// The mean that is subtracted from a row; 0 for RMSNorm.
template <bool kCentred, int kWidth, int kParts, class Block>
ORRERY_DEVICE float row_mean(Block& block, std::int64_t hidden, const float (&x)[kWidth * kParts]) {
    if constexpr (kCentred) {
        float sum[1] = {0.0f};
        ORRERY_UNROLL
        for (int i = 0; i < kWidth * kParts; ++i) {
            sum[0] += x[i];
        }
        reduce_block_once(block, block.shared() + 2 * kReduceBytes<float, 3>, sum);
        return sum[0] / static_cast<float>(hidden);
    } else {
        return 0.0f;
    }
}

// Shared memory: the sums of even rows, the sums of odd rows, and the means. Between two uses of
// one of them lies the barrier of another, so that reuse needs no barrier of its own.
inline constexpr int kNormSharedBytes = 2 * kReduceBytes<float, 3> + kReduceBytes<float, 1>;

template <bool kCentred, class T, int kWidth, int kParts>
struct NormForwardKernel {
    static constexpr int kThreadsMax = kNormThreads;
    using Row = NormRow<kWidth, kParts>;
    Row row;
    float epsilon;
    const T* x;
    const T* residual;  // null: no addition
    Elements bias[2];
    Elements weight;
    T* sum;
    T* y;
    float* statistics;  // may be null

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t first = block.x() * row.hidden;
        float values[Row::kCount];
        row.load_row(block, x + first, values);
        if (residual != nullptr) {
            add(block, first, values);
        }
        const float mean = row_mean<kCentred, kWidth, kParts>(block, row.hidden, values);
        float squares[1] = {0.0f};
        row.for_parts(block, [&](int part, int) {
            ORRERY_UNROLL
            for (int i = part * kWidth; i < (part + 1) * kWidth; ++i) {
                values[i] -= mean;
                squares[0] += values[i] * values[i];
            }
        });
        reduce_block_once(block, block.shared(), squares);
        const float inverse = 1.0f / sqrtf(squares[0] / static_cast<float>(row.hidden) + epsilon);
        if (statistics != nullptr && block.thread() == 0) {
            if (kCentred) {
                statistics[2 * block.x()] = mean;
            }
            statistics[kCentred ? 2 * block.x() + 1 : block.x()] = inverse;
        }
        row.for_parts(block, [&](int part, int column) {
            float gamma[kWidth];
            float beta[kWidth] = {};
            float out[kWidth];
            weight.read(column, gamma);
            if (kCentred) {
                weight.read(row.hidden + column, beta);
            }
            Row::copy_from(values, part, out);
            ORRERY_UNROLL
            for (int i = 0; i < kWidth; ++i) {
                out[i] = out[i] * inverse * gamma[i] + beta[i];
            }
            store(y + first + column, out);
        });
    }

    // values = x + residual + biases, rounded as stored.
    template <class Block>
    ORRERY_DEVICE void add(Block& block, std::int64_t first, float (&values)[Row::kCount]) const {
        row.for_parts(block, [&](int part, int column) {
            float total[kWidth];
            float other[kWidth];
            Row::copy_from(values, part, total);
            load(residual + first + column, other);
            ORRERY_UNROLL
            for (int i = 0; i < kWidth; ++i) {
                total[i] += other[i];
            }
            ORRERY_UNROLL
            for (int b = 0; b < 2; ++b) {
                if (bias[b].present()) {
                    bias[b].read(column, other);
                    ORRERY_UNROLL
                    for (int i = 0; i < kWidth; ++i) {
                        total[i] += other[i];
                    }
                }
            }
            ORRERY_UNROLL
            for (int i = 0; i < kWidth; ++i) {
                total[i] = rounded<T>(total[i]);
            }
            store(sum + first + column, total);
            Row::copy_to(total, values, part);
        });
    }
};

template <bool kCentred, class T, int kWidth, int kParts>
struct NormBackwardKernel {
    static constexpr int kThreadsMax = kNormThreads;
    using Row = NormRow<kWidth, kParts>;
    Row row;
    std::int64_t tokens;
    float epsilon;
    const T* dy;
    const T* x;
    Elements weight;
    const T* dresidual;       // null: no residual
    const float* statistics;  // null: recomputed
    T* dx;
    float* partial;  // [blocks, hidden or 2 hidden]

    // Loads the next row while the block waits at the barriers of this one, except where registers
    // are scarce.
    static constexpr bool kAhead = kPack<T> == 8 && kWidth == 8 && kParts == 2;

    using Values = float[Row::kCount];
    using RawRow = RawElements<T, kWidth>[kParts];

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        Values dgamma = {};
        Values dbeta = {};
        RawRow next_x = {};
        RawRow next_dy = {};
        if (kAhead) {
            read(block, x, block.x(), next_x);
            read(block, dy, block.x(), next_dy);
        }
        std::byte* shared = block.shared();
        std::byte* other = shared + kReduceBytes<float, 3>;
        for (std::int64_t token = block.x(); token < tokens; token += block.blocks_x()) {
            Values centred;
            Values g;
            if (kAhead) {
                widen_row(next_x, centred);
                widen_row(next_dy, g);
                read(block, x, token + block.blocks_x(), next_x);
                read(block, dy, token + block.blocks_x(), next_dy);
            } else {
                row.load_row(block, x + token * row.hidden, centred);
                row.load_row(block, dy + token * row.hidden, g);
            }
            add_row(block, token, shared, centred, g, dgamma, dbeta);
            std::byte* const used = shared;
            shared = other;
            other = used;
        }
        float* own = partial + block.x() * row.hidden * (kCentred ? 2 : 1);
        row.for_parts(block, [&](int part, int column) {
            float sums[kWidth];
            Row::copy_from(dgamma, part, sums);
            store(own + column, sums);
            if (kCentred) {
                Row::copy_from(dbeta, part, sums);
                store(own + row.hidden + column, sums);
            }
        });
    }

    // Reads the thread's elements of a row. Other elements of `raw` keep their values.
    template <class Block>
    ORRERY_DEVICE void read(Block& block, const T* from, std::int64_t token, RawRow& raw) const {
        if (token < tokens) {
            row.for_parts(block, [&](int part, int column) {
                raw[part].read(from + token * row.hidden + column);
            });
        }
    }
    static ORRERY_HOST_DEVICE void widen_row(const RawRow& raw, Values& values) {
        ORRERY_UNROLL
        for (int part = 0; part < kParts; ++part) {
            float widened[kWidth];
            raw[part].widen_to(widened);
            Row::copy_to(widened, values, part);
        }
    }

    // With c = x - mean (or x) and g = dy gamma: one reduction gives 1 / deviation from sum c^2,
    // and the means of g and of g x^.
    template <class Block>
    ORRERY_DEVICE void add_row(Block& block,
                               std::int64_t token,
                               std::byte* shared,
                               Values& centred,
                               const Values& g,
                               Values& dgamma,
                               Values& dbeta) const {
        const std::int64_t first = token * row.hidden;
        const auto hidden = static_cast<float>(row.hidden);
        RawRow residual = {};
        if (kAhead && dresidual != nullptr) {
            read(block, dresidual, token, residual);
        }
        const bool given = statistics != nullptr;
        // Loaded before the barriers to overlap them.
        const float kept = given ? statistics[kCentred ? 2 * token + 1 : token] : 0.0f;
        const float mean = given && kCentred
                               ? statistics[2 * token]
                               : row_mean<kCentred, kWidth, kParts>(block, row.hidden, centred);
        float sums[3] = {0.0f, 0.0f, 0.0f};
        row.for_parts(block, [&](int part, int column) {
            float gamma[kWidth];
            weight.read(column, gamma);
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                const int i = part * kWidth + j;
                centred[i] -= mean;
                sums[0] += centred[i] * centred[i];
                sums[1] += g[i] * gamma[j];
                sums[2] += g[i] * gamma[j] * centred[i];
            }
        });
        reduce_block_once(block, shared, sums);
        const float inverse = given ? kept : 1.0f / sqrtf(sums[0] / hidden + epsilon);
        const float mean_g = kCentred ? sums[1] / hidden : 0.0f;
        const float mean_gx = sums[2] * inverse / hidden;
        row.for_parts(block, [&](int part, int column) {
            float gamma[kWidth];
            float out[kWidth];
            float more[kWidth] = {};
            weight.read(column, gamma);
            if (kAhead) {
                residual[part].widen_to(more);
            } else if (dresidual != nullptr) {
                load(dresidual + first + column, more);
            }
            ORRERY_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                const int i = part * kWidth + j;
                const float normal = centred[i] * inverse;
                dgamma[i] += g[i] * normal;
                dbeta[i] += g[i];
                out[j] = inverse * (g[i] * gamma[j] - mean_g - normal * mean_gx) + more[j];
            }
            store(dx + first + column, out);
        });
    }
};

// Calls with_shape.operator()<kWidth, kParts>(threads): 16 elements a thread, 32 for long rows.
// Rows that are not 16-byte aligned are read element by element.
template <class WithShape>
void for_norm_row(std::int64_t hidden, bool vector, const WithShape& with_shape) {
    ORRERY_CHECK(hidden > 0 && hidden <= kNormHiddenMax);
    const auto threads = [&](std::int64_t count) {
        return static_cast<int>((hidden + count * kWarp - 1) / (count * kWarp) * kWarp);
    };
    if (!vector) {
        with_shape.template operator()<1, 32>(threads(32));
    } else if (hidden <= 16 * kNormThreads) {
        with_shape.template operator()<8, 2>(threads(16));
    } else {
        with_shape.template operator()<8, 4>(threads(32));
    }
}

template <class T>
T* elements_or_null(TensorView view) {
    return view.empty() ? nullptr : elements<T>(view);
}
template <class T>
const T* elements_or_null(ConstTensorView view) {
    return view.empty() ? nullptr : elements<T>(view);
}

template <bool kCentred, class Queue>
void norm_forward(Queue& queue,
                  const cpu::NormShape& shape,
                  const cpu::NormForward& a,
                  const NormBiases& biases) {
    ORRERY_CHECK(a.y.dtype == a.x.dtype);
    ORRERY_CHECK(a.residual.empty() || (a.residual.dtype == a.x.dtype && a.sum.dtype == a.x.dtype));
    bool vector = shape.hidden % 8 == 0;
    for (const ConstTensorView& view : std::initializer_list<ConstTensorView>{
             a.x, a.residual, a.weight, a.sum, a.y, biases.first, biases.second}) {
        vector = vector && aligned(view);
    }
    for_dtype(a.x.dtype, [&]<class T>(T*) {
        for_norm_row(shape.hidden, vector, [&]<int kWidth, int kParts>(int threads) {
            queue.launch(
                NormForwardKernel<kCentred, T, kWidth, kParts>{
                    .row = {shape.hidden},
                    .epsilon = shape.epsilon,
                    .x = elements<T>(a.x),
                    .residual = elements_or_null<T>(a.residual),
                    .bias = {any_elements(biases.first), any_elements(biases.second)},
                    .weight = any_elements(a.weight),
                    .sum = elements_or_null<T>(a.sum),
                    .y = elements<T>(a.y),
                    .statistics = elements_or_null<float>(a.statistics)},
                {.blocks_x = shape.tokens, .threads = threads, .shared_bytes = kNormSharedBytes});
        });
    });
}

template <bool kCentred, class Queue>
void norm_backward(Queue& queue, const cpu::NormShape& shape, const cpu::NormBackward& a) {
    ORRERY_CHECK(a.dy.dtype == a.x.dtype && a.dx.dtype == a.x.dtype);
    ORRERY_CHECK(a.dresidual.empty() || a.dresidual.dtype == a.x.dtype);
    bool vector = shape.hidden % 8 == 0;
    for (const ConstTensorView& view :
         std::initializer_list<ConstTensorView>{a.dy, a.x, a.weight, a.dresidual, a.dx}) {
        vector = vector && aligned(view);
    }
    const std::int64_t columns = shape.hidden * (kCentred ? 2 : 1);
    ColumnSumKernel sum{
        .partial = nullptr, .parts = 0, .columns = columns, .gradient = any_elements(a.dweight)};
    for_dtype(a.x.dtype, [&]<class T>(T*) {
        for_norm_row(shape.hidden, vector, [&]<int kWidth, int kParts>(int threads) {
            sum.parts = norm_backward_blocks(shape.tokens, threads);
            auto* partial = reinterpret_cast<float*>(queue.scratch(sum.parts * columns * 4));
            sum.partial = partial;
            queue.launch(
                NormBackwardKernel<kCentred, T, kWidth, kParts>{
                    .row = {shape.hidden},
                    .tokens = shape.tokens,
                    .epsilon = shape.epsilon,
                    .dy = elements<T>(a.dy),
                    .x = elements<T>(a.x),
                    .weight = any_elements(a.weight),
                    .dresidual = elements_or_null<T>(a.dresidual),
                    .statistics = elements_or_null<float>(a.statistics),
                    .dx = elements<T>(a.dx),
                    .partial = partial},
                {.blocks_x = sum.parts, .threads = threads, .shared_bytes = kNormSharedBytes});
        });
    });
    queue.launch(sum, sum.geometry());
}

}  // namespace orrery::device
