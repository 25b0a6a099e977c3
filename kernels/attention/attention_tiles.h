// SPDX-License-Identifier: Apache-2.0
// Parts of the tensor-core attention kernels: the mask, and tiles of bf16 rows in shared memory.
// The 16-byte chunks of a tile are permuted within a row (chunk XOR row mod 8), so that eight rows
// of one column of chunks are in different banks.
#pragma once

#include "kernels/cuda/elements.h"
#include "kernels/sequence_positions.h"

namespace orrery::device {

struct KeyRange {
    int first = 0;
    int end = 0;
};

// The same rule as visible_keys() in kernels/attention/attention_cpu.cpp.
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
    // The keys seen by at least one, or by all, of the queries first ... end - 1 (clipped to the
    // existing queries).
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
    T* data;  // column 0 of head 0
    std::int64_t width;
    std::int64_t batch;
    ORRERY_HOST_DEVICE HeadRows<T> head(std::int64_t sequence,
                                        std::int64_t index,
                                        std::int64_t head_dim) const {
        return {data + sequence * width + index * head_dim, batch * width};
    }
};

// A tile of contiguous bf16 rows.
template <int kColumns, int kTileRows>
struct RowTile {
    static constexpr int kDim = kColumns;
    static constexpr int kRows = kTileRows;
    static constexpr int kChunks = kDim / 8;    // per row, 16 bytes each
    static constexpr int kRowBytes = 2 * kDim;  // from one row to the next
    static constexpr int kBytes = kRows * kRowBytes;

    ORRERY_HOST_DEVICE static constexpr int offset(int row, int chunk) {
        return (row * kChunks + (chunk ^ (row & 7))) * 16;
    }
};

// Starts the copy of the rows from `first` on. Rows from `end` on become zeros.
template <class Tile, int kThreads, class Block>
ORRERY_DEVICE void load_tile(
    Block& block, std::byte* tile, HeadRows<const Bf16> rows, int first, int end) {
    constexpr int kRowsAtOnce = kThreads / Tile::kChunks;
    // Each thread has one permutation.
    static_assert(kRowsAtOnce % 8 == 0 && Tile::kRows % kRowsAtOnce == 0);
    const int own = block.thread() / Tile::kChunks;
    const int chunk = block.thread() % Tile::kChunks;
    std::byte* to = tile + Tile::offset(own, chunk);
    const Bf16* from = rows.data + (first + own) * rows.stride + chunk * 8;
    ORRERY_UNROLL
    for (int row = 0; row < Tile::kRows; row += kRowsAtOnce) {
        const bool valid = first + own + row < end;
        block.copy_async(to + row * Tile::kRowBytes, valid ? from : rows.data, valid);
        from += kRowsAtOnce * rows.stride;
    }
}

// Writes the [16, Tile::kDim] sums of a warp, times a factor for each half of its rows, as bf16 to
// rows row ... of a tile. Only this warp uses these rows.
template <class Tile, class Block>
ORRERY_DEVICE void sums_to_tile(Block& block,
                                const float (&sums)[Tile::kChunks][4],
                                float upper,
                                float lower,
                                std::byte* tile,
                                int row) {
    const int lane = block.lane();
    ORRERY_UNROLL
    for (int n = 0; n < Tile::kChunks; ++n) {
        const int column_bytes = 4 * (lane % 4);
        std::byte* up = tile + Tile::offset(row + lane / 4, n) + column_bytes;
        std::byte* low = tile + Tile::offset(row + lane / 4 + 8, n) + column_bytes;
        *reinterpret_cast<std::uint32_t*>(up) = pack_bf16(sums[n][0] * upper, sums[n][1] * upper);
        *reinterpret_cast<std::uint32_t*>(low) = pack_bf16(sums[n][2] * lower, sums[n][3] * lower);
    }
}

// A warp reads rows first + row ... of a tensor, below `end`, into rows row ... row + kRows - 1 of
// a tile. Rows from `end` on become zeros.
template <class Tile, int kRows, class Block>
ORRERY_DEVICE void rows_to_tile(
    Block& block, HeadRows<Bf16> rows, int first, int end, std::byte* tile, int row) {
    for (int i = block.lane(); i < kRows * Tile::kChunks; i += kWarp) {
        const int own = row + i / Tile::kChunks;
        const int chunk = i % Tile::kChunks;
        const Bf16* from = rows.data + (first + own) * rows.stride + 8 * chunk;
        put_shared_words(tile + Tile::offset(own, chunk),
                         first + own < end ? words_at(from) : Words{});
    }
}

// A warp writes rows row ... row + kRows - 1 of a tile to rows first + row ... of a tensor, below
// `end`, or adds them.
template <class Tile, int kRows, class Block>
ORRERY_DEVICE void tile_to_rows(Block& block,
                                const std::byte* tile,
                                int row,
                                HeadRows<Bf16> rows,
                                int first,
                                int end,
                                bool add) {
    block.sync_warp();
    for (int i = block.lane(); i < kRows * Tile::kChunks; i += kWarp) {
        const int own = row + i / Tile::kChunks;
        const int chunk = i % Tile::kChunks;
        if (first + own < end) {
            Words value = words_at(tile + Tile::offset(own, chunk));
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
            put_words(to, value);
        }
    }
}

}  // namespace orrery::device
