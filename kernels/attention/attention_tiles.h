// SPDX-License-Identifier: Apache-2.0
// Parts of the tensor-core attention kernels: which keys a query sees, tiles of bf16 rows in shared
// memory, and fragments of them. A tile is kDim columns wide; its 16-byte chunks are permuted
// within a row (chunk XOR row mod 8), so that eight rows of one column of chunks lie in different
// banks.
#pragma once

#include "kernels/cuda/elements.h"
#include "kernels/sequence_positions.h"

namespace orrery::device {

struct KeyRange {
    int first = 0;
    int end = 0;
};

// As visible_keys() of kernels/attention/attention_cpu.cpp.
struct AttentionMask {
    SequencePositions query;
    SequencePositions key;
    std::int64_t window = 0;
    bool causal = true;

    ORRERY_HOST_DEVICE int queries() const { return static_cast<int>(query.length); }
    ORRERY_HOST_DEVICE int keys() const { return static_cast<int>(key.length); }
    ORRERY_HOST_DEVICE KeyRange seen_by(int i) const {
        if (!causal) {
            return {0, keys()};
        }
        const std::int64_t after = query.of(i) + 1;
        const std::int64_t first = window > 0 ? key.count_below(after - window) : 0;
        return {static_cast<int>(first), static_cast<int>(key.count_below(after))};
    }
    // All that some query of first ... end - 1 (clipped to those that exist) sees, and what all do.
    ORRERY_HOST_DEVICE KeyRange seen_by_some(int first, int end) const {
        return {seen_by(first).first, seen_by((end < queries() ? end : queries()) - 1).end};
    }
    ORRERY_HOST_DEVICE KeyRange seen_by_all(int first, int end) const {
        const int last = (end < queries() ? end : queries()) - 1;
        return {seen_by(last).first, seen_by(first < last ? first : last).end};
    }
};

// Rows of one head of one sequence: row i begins at data + i * stride.
template <class T>
struct HeadRows {
    T* data;
    std::int64_t stride;
};

// The heads of all sequences (kernels/attention/token_columns.h).
template <class T>
struct HeadTensor {
    T* data;  // of column 0 of head 0
    std::int64_t width;
    std::int64_t batch;
    ORRERY_HOST_DEVICE HeadRows<T> head(std::int64_t sequence,
                                        std::int64_t index,
                                        std::int64_t head_dim) const {
        return {data + sequence * width + index * head_dim, batch * width};
    }
};

template <int kDim>
inline constexpr int kChunks = kDim / 8;
template <int kDim>
inline constexpr int kRowBytes = 2 * kDim;

template <int kDim>
ORRERY_HOST_DEVICE int tile_offset(int row, int chunk) {
    return (row * kChunks<kDim> + (chunk ^ (row & 7))) * 16;
}

// Begins to copy rows first ... first + kRows - 1; those from `end` on are zeros.
template <int kDim, int kRows, int kThreads, class Block>
ORRERY_DEVICE void load_tile(
    Block& block, std::byte* tile, HeadRows<const Bf16> rows, int first, int end) {
    constexpr int kRowsAtOnce = kThreads / kChunks<kDim>;
    static_assert(kRowsAtOnce % 8 == 0 && kRows % kRowsAtOnce == 0);  // one permutation a thread
    const int own = block.thread() / kChunks<kDim>;
    const int chunk = block.thread() % kChunks<kDim>;
    std::byte* to = tile + tile_offset<kDim>(own, chunk);
    const Bf16* from = rows.data + (first + own) * rows.stride + chunk * 8;
    ORRERY_UNROLL
    for (int row = 0; row < kRows; row += kRowsAtOnce) {
        const bool valid = first + own + row < end;
        block.copy_async(to + row * kRowBytes<kDim>, valid ? from : rows.data, valid);
        from += kRowsAtOnce * rows.stride;
    }
}

// A (16 rows from `row` on, columns 16 step ...).
template <int kDim, class Block>
ORRERY_DEVICE void load_a(
    Block& block, const std::byte* tile, int row, int step, std::uint32_t (&a)[4]) {
    const int lane = block.lane();
    block.load_matrices(tile + tile_offset<kDim>(row + lane % 16, 2 * step + lane / 16), a);
}

// B of a product with the transpose of the tile: columns of B are the 16 rows from `row` on, rows
// of B the tile's columns 16 step ...; {b[0], b[1]} and {b[2], b[3]} are eight columns each.
template <int kDim, class Block>
ORRERY_DEVICE void load_b(
    Block& block, const std::byte* tile, int row, int step, std::uint32_t (&b)[4]) {
    const int lane = block.lane();
    const int chunk = 2 * step + lane / 8 % 2;
    block.load_matrices(tile + tile_offset<kDim>(row + lane % 8 + lane / 16 * 8, chunk), b);
}

// B of a product with the tile itself: its rows row ..., columns 16 step ....
template <int kDim, class Block>
ORRERY_DEVICE void load_b_straight(
    Block& block, const std::byte* tile, int row, int step, std::uint32_t (&b)[4]) {
    const int lane = block.lane();
    const int chunk = 2 * step + lane / 16;
    block.load_matrices_transposed(tile + tile_offset<kDim>(row + lane % 16, chunk), b);
}

// sums [16, kColumns] = rows row_x ... of x times the transpose of the kColumns rows of y.
template <int kDim, int kColumns, class Block>
ORRERY_DEVICE void multiply_transposed(Block& block,
                                       const std::byte* x,
                                       int row_x,
                                       const std::byte* y,
                                       float (&sums)[kColumns / 8][4]) {
    ORRERY_UNROLL
    for (int n = 0; n < kColumns / 8; ++n) {
        ORRERY_UNROLL
        for (int i = 0; i < 4; ++i) {
            sums[n][i] = 0.0f;
        }
    }
    ORRERY_UNROLL
    for (int step = 0; step < kDim / 16; ++step) {
        std::uint32_t a[4];
        load_a<kDim>(block, x, row_x, step, a);
        ORRERY_UNROLL
        for (int n = 0; n < kColumns / 16; ++n) {
            std::uint32_t b[4];
            load_b<kDim>(block, y, 16 * n, step, b);
            block.mma(sums[2 * n], a, b[0], b[1]);
            block.mma(sums[2 * n + 1], a, b[2], b[3]);
        }
    }
}

// Columns 16 step ... of the [16, kColumns] values that a warp holds as sums, rounded, as an A.
template <int kTiles>
ORRERY_DEVICE void a_of_sums(const float (&sums)[kTiles][4], int step, std::uint32_t (&a)[4]) {
    a[0] = pack_bf16(sums[2 * step][0], sums[2 * step][1]);
    a[1] = pack_bf16(sums[2 * step][2], sums[2 * step][3]);
    a[2] = pack_bf16(sums[2 * step + 1][0], sums[2 * step + 1][1]);
    a[3] = pack_bf16(sums[2 * step + 1][2], sums[2 * step + 1][3]);
}

// sums [16, kDim] += x [16, kRows], rounded, times the kRows rows of y.
template <int kDim, int kRows, class Block>
ORRERY_DEVICE void add_product(Block& block,
                               const float (&x)[kRows / 8][4],
                               const std::byte* y,
                               float (&sums)[kDim / 8][4]) {
    ORRERY_UNROLL
    for (int step = 0; step < kRows / 16; ++step) {
        std::uint32_t a[4];
        a_of_sums(x, step, a);
        ORRERY_UNROLL
        for (int n = 0; n < kDim / 16; ++n) {
            std::uint32_t b[4];
            load_b_straight<kDim>(block, y, 16 * step, n, b);
            block.mma(sums[2 * n], a, b[0], b[1]);
            block.mma(sums[2 * n + 1], a, b[2], b[3]);
        }
    }
}

// Writes [16, kDim] sums of a warp, times a factor for each half of its rows, to rows row ... of a
// tile, as bf16. The warp owns these rows.
template <int kDim, class Block>
ORRERY_DEVICE void sums_to_tile(Block& block,
                                const float (&sums)[kDim / 8][4],
                                float upper,
                                float lower,
                                std::byte* tile,
                                int row) {
    const int lane = block.lane();
    ORRERY_UNROLL
    for (int n = 0; n < kDim / 8; ++n) {
        const int column_bytes = 4 * (lane % 4);
        std::byte* up = tile + tile_offset<kDim>(row + lane / 4, n) + column_bytes;
        std::byte* low = tile + tile_offset<kDim>(row + lane / 4 + 8, n) + column_bytes;
        *reinterpret_cast<std::uint32_t*>(up) = pack_bf16(sums[n][0] * upper, sums[n][1] * upper);
        *reinterpret_cast<std::uint32_t*>(low) = pack_bf16(sums[n][2] * lower, sums[n][3] * lower);
    }
}

// A warp reads rows first + row ... < end of a tensor into rows row ... row + kRows - 1 of a tile;
// those from `end` on are zeros.
template <int kDim, int kRows, class Block>
ORRERY_DEVICE void rows_to_tile(
    Block& block, HeadRows<Bf16> rows, int first, int end, std::byte* tile, int row) {
    for (int i = block.lane(); i < kRows * kChunks<kDim>; i += kWarp) {
        const int own = row + i / kChunks<kDim>;
        const int chunk = i % kChunks<kDim>;
        const Bf16* from = rows.data + (first + own) * rows.stride + 8 * chunk;
        *reinterpret_cast<Words*>(tile + tile_offset<kDim>(own, chunk)) =
            first + own < end ? *reinterpret_cast<const Words*>(from) : Words{};
    }
}

// A warp writes rows row ... row + kRows - 1 of a tile to rows first + row ... < end of a tensor,
// or adds them.
template <int kDim, int kRows, class Block>
ORRERY_DEVICE void tile_to_rows(Block& block,
                                const std::byte* tile,
                                int row,
                                HeadRows<Bf16> rows,
                                int first,
                                int end,
                                bool add) {
    block.sync_warp();
    for (int i = block.lane(); i < kRows * kChunks<kDim>; i += kWarp) {
        const int own = row + i / kChunks<kDim>;
        const int chunk = i % kChunks<kDim>;
        if (first + own < end) {
            Words value = *reinterpret_cast<const Words*>(tile + tile_offset<kDim>(own, chunk));
            Bf16* to = rows.data + (first + own) * rows.stride + 8 * chunk;
            if (add) {
                float before[8];
                float more[8];
                load(to, before);
                unpack(value, to, more);
                for (int j = 0; j < 8; ++j) {
                    before[j] += more[j];
                }
                value = packed(before, to);
            }
            *reinterpret_cast<Words*>(to) = value;
        }
    }
}

}  // namespace orrery::device
