// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/elementwise/elementwise_cuda.h.
#pragma once

#include "kernels/cuda/flat.h"
#include "kernels/cuda/reduce.h"
#include "kernels/elementwise/elementwise_cuda.h"

namespace orrery::device {

template <class T, class Sum>
struct ReduceLocalKernel {
    static constexpr int kThreadsMax = kFlatThreads;
    const T* chunks[kReduceChunksMax];
    int count;
    Sum* sum;
    std::int64_t size;
    bool vector;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_flat(block, size, vector, [this]<int kCount>(std::int64_t i) {
            float total[kCount];
            load(chunks[0] + i, total);
            for (int c = 1; c < count; ++c) {
                float more[kCount];
                load(chunks[c] + i, more);
                ORRERY_UNROLL
                for (int j = 0; j < kCount; ++j) {
                    total[j] += more[j];
                }
            }
            store(sum + i, total);
        });
    }
};

// Tiles of 32 x 32 through shared memory, a column wider so that columns lie in different banks.
template <class T>
struct TransposeKernel {
    static constexpr int kThreadsMax = 256;
    static constexpr int kTile = 32;
    std::int64_t rows;
    std::int64_t columns;
    const T* matrix;
    T* transposed;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        T* tile = reinterpret_cast<T*>(block.shared());
        const std::int64_t first_column = block.x() * kTile;
        const int lane = block.lane();
        for (std::int64_t first_row = block.y() * kTile; first_row < rows;
             first_row += block.blocks_y() * kTile) {
            for (int i = block.warp(); i < kTile; i += kThreadsMax / kWarp) {
                if (first_row + i < rows && first_column + lane < columns) {
                    tile[i * (kTile + 1) + lane] =
                        matrix[(first_row + i) * columns + first_column + lane];
                }
            }
            block.sync();
            for (int i = block.warp(); i < kTile; i += kThreadsMax / kWarp) {
                if (first_column + i < columns && first_row + lane < rows) {
                    transposed[(first_column + i) * rows + first_row + lane] =
                        tile[lane * (kTile + 1) + i];
                }
            }
            block.sync();
        }
    }
};

template <class X, class Y>
struct ScaleAddKernel {
    static constexpr int kThreadsMax = kFlatThreads;
    float a;
    const X* x;
    float b;
    Y* y;
    std::int64_t size;
    bool vector;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_flat(block, size, vector, [this]<int kCount>(std::int64_t i) {
            float from[kCount] = {};
            float to[kCount] = {};
            if (a != 0.0f) {
                load(x + i, from);
            }
            if (b != 0.0f) {
                load(y + i, to);
            }
            ORRERY_UNROLL
            for (int j = 0; j < kCount; ++j) {
                to[j] = a * from[j] + b * to[j];
            }
            store(y + i, to);
        });
    }
};

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
ORRERY_HOST_DEVICE std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
ORRERY_HOST_DEVICE std::uint64_t mix_word(std::uint64_t index, std::uint32_t word) {
    return mixed(mixed(index + 1) + word);
}

// Of `bytes` bytes into a sum for each block; or, as one block, of those sums.
struct ChecksumKernel {
    static constexpr int kThreadsMax = 256;
    const std::byte* data;
    std::int64_t bytes;
    const std::uint64_t* parts;  // not null: sum these `bytes` numbers instead
    std::uint64_t* sums;
    bool words;  // data is 4-byte aligned

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t thread = block.x() * kThreadsMax + block.thread();
        const std::int64_t threads = block.blocks_x() * kThreadsMax;
        std::uint64_t sum[1] = {0};
        if (parts != nullptr) {
            for (std::int64_t i = thread; i < bytes; i += threads) {
                sum[0] += parts[i];
            }
        } else {
            for (std::int64_t i = thread; 4 * i < bytes; i += threads) {
                sum[0] += mix_word(static_cast<std::uint64_t>(i), word_at(i));
            }
        }
        reduce_block(block, block.shared(), sum);
        if (block.thread() == 0) {
            sums[block.x()] = sum[0];
        }
    }

    ORRERY_HOST_DEVICE std::uint32_t word_at(std::int64_t i) const {
        if (words && 4 * i + 4 <= bytes) {
            return reinterpret_cast<const std::uint32_t*>(data)[i];
        }
        std::uint32_t word = 0;
        for (int j = 0; j < 4 && 4 * i + j < bytes; ++j) {
            word |= static_cast<std::uint32_t>(data[4 * i + j]) << (8 * j);
        }
        return word;
    }
};

template <class Queue>
void reduce_local(Queue& queue, std::span<const ConstTensorView> chunks, TensorView sum) {
    ORRERY_CHECK(!chunks.empty() && chunks.size() <= kReduceChunksMax);
    const Dtype dtype = chunks[0].dtype;
    for_dtype(dtype, [&]<class T>(T*) {
        for_dtype(sum.dtype, [&]<class Sum>(Sum*) {
            ReduceLocalKernel<T, Sum> kernel{.chunks = {},
                                             .count = static_cast<int>(chunks.size()),
                                             .sum = elements<Sum>(sum),
                                             .size = sum.size,
                                             .vector = aligned(sum)};
            for (std::size_t i = 0; i < chunks.size(); ++i) {
                ORRERY_CHECK(chunks[i].dtype == dtype);
                kernel.chunks[i] = elements<T>(chunks[i]);
                kernel.vector = kernel.vector && aligned(chunks[i]);
            }
            queue.launch(kernel, flat_geometry(sum.size));
        });
    });
}

template <class Queue>
void transpose(Queue& queue,
               std::int64_t rows,
               std::int64_t columns,
               ConstTensorView matrix,
               TensorView transposed) {
    constexpr std::int64_t kTile = 32;
    ORRERY_CHECK(matrix.dtype == transposed.dtype);
    for_dtype(matrix.dtype, [&]<class T>(T*) {
        queue.launch(
            TransposeKernel<T>{.rows = rows,
                               .columns = columns,
                               .matrix = elements<T>(matrix),
                               .transposed = elements<T>(transposed)},
            {.blocks_x = (columns + kTile - 1) / kTile,
             .blocks_y = std::min<std::int64_t>((rows + kTile - 1) / kTile, 0xFFFF),
             .threads = TransposeKernel<T>::kThreadsMax,
             .shared_bytes = static_cast<int>(kTile * (kTile + 1) * std::int64_t{sizeof(T)})});
    });
}

template <class Queue>
void scale_add(Queue& queue, float a, ConstTensorView x, float b, TensorView y) {
    for_dtype(x.dtype, [&]<class X>(X*) {
        for_dtype(y.dtype, [&]<class Y>(Y*) {
            queue.launch(ScaleAddKernel<X, Y>{.a = a,
                                              .x = elements<X>(x),
                                              .b = b,
                                              .y = elements<Y>(y),
                                              .size = y.size,
                                              .vector = aligned(x) && aligned(y)},
                         flat_geometry(y.size));
        });
    });
}

template <class Queue>
void checksum(Queue& queue, ConstTensorView data, TensorView sum) {
    constexpr std::int64_t kBlocksMax = 1024;
    constexpr int kThreads = ChecksumKernel::kThreadsMax;
    const std::int64_t bytes = data.size * size_bytes(data.dtype);
    const std::int64_t blocks =
        std::clamp<std::int64_t>((bytes / 4 + kThreads - 1) / kThreads, 1, kBlocksMax);
    auto* parts = reinterpret_cast<std::uint64_t*>(queue.scratch(blocks * 8));
    const Geometry geometry{
        .blocks_x = blocks, .threads = kThreads, .shared_bytes = kReduceBytes<std::uint64_t, 1>};
    queue.launch(ChecksumKernel{.data = data.data,
                                .bytes = bytes,
                                .parts = nullptr,
                                .sums = parts,
                                .words = reinterpret_cast<std::uintptr_t>(data.data) % 4 == 0},
                 geometry);
    Geometry one = geometry;
    one.blocks_x = 1;
    queue.launch(ChecksumKernel{.data = nullptr,
                                .bytes = blocks,
                                .parts = parts,
                                .sums = elements<std::uint64_t>(sum),
                                .words = false},
                 one);
}

}  // namespace orrery::device
