// SPDX-License-Identifier: Apache-2.0
// Flash attention forward on tensor cores (attention_cores.h), bf16, head sizes 64 and 128. A block
// has 128 queries of a head, and a warp 32 or 16 of them. The block loops over keys and values in
// tiles of 64 or 128, and copies the next tile while it computes. The softmax is online, as in
// FlashAttention-2 (Dao, arXiv 2307.08691, algorithm 1), to base two. A step of a ring merges its
// rows with those of the steps before it. Dropout (kDropout) does not change the row sums.
#pragma once

#include "kernels/attention/attention_cores.h"
#include "kernels/attention/attention_dropout_device.h"
#include "kernels/cuda/queue.h"

namespace orrery::device {

inline constexpr float kLog2e = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;
inline constexpr float kInfinity = __builtin_huge_valf();

// The weights of two blocks of keys in their common row, and its log-sum-exp.
struct MergedRow {
    float before;
    float now;
    float log_sum_exp;
};
ORRERY_HOST_DEVICE MergedRow merged_row(float before, float now) {
    if (before == -kInfinity) {
        return {0.0f, 1.0f, now};
    }
    const float larger = fmaxf(before, now);
    const float old_share = expf(before - larger);
    const float new_share = expf(now - larger);
    const float total = old_share + new_share;
    return {old_share / total, new_share / total, larger + logf(total)};
}

template <int kDim, bool kDropout, class Cores>
struct AttentionForwardKernel {
    static constexpr int kThreadsMax = Cores::kForwardThreads;
    static constexpr int kQueries = 128;
    static constexpr int kKeys = Cores::kForwardKeys;
    static constexpr int kHalves = Cores::kForwardHalves;  // groups of 16 rows per warp
    static constexpr int kWarpRows = 16 * kHalves;
    static_assert(kThreadsMax / kWarp * kWarpRows == kQueries);
    using QueryTile = typename Cores::template Tile<kDim, kQueries>;
    using KeyTile = typename Cores::template Tile<kDim, kKeys>;
    static constexpr int kSharedBytes =
        QueryTile::kBytes + 4 * KeyTile::kBytes;  // K and V, two of each

    AttentionMask mask;
    std::int64_t heads;
    std::int64_t group;  // query heads per key-value head
    float scale;
    HeadTensor<const Bf16> q;
    HeadTensor<const Bf16> k;
    HeadTensor<const Bf16> v;
    HeadTensor<Bf16> output;
    float* log_sum_exp;  // [seq_q, batch, heads]
    bool merge;          // merge with the contents of output and log_sum_exp
    ProbabilityDropout dropout;

    // A thread's sums: in each half, rows lane / 4 and lane / 4 + 8.
    struct Rows {
        float output[kHalves][kDim / 8][4] = {};
        float maximum[kHalves][2];
        float sum[kHalves][2] = {};
    };
    using Scores = float[kHalves][kKeys / 8][4];

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        // Late queries see most keys, so that their blocks go first.
        const int first = static_cast<int>(block.blocks_x() - 1 - block.x()) * kQueries;
        const std::int64_t sequence = block.y() / heads;
        const std::int64_t head = block.y() % heads;
        const HeadRows<const Bf16> keys = k.head(sequence, head / group, kDim);
        const HeadRows<const Bf16> values = v.head(sequence, head / group, kDim);
        std::byte* queries = block.shared();
        std::byte* tiles = queries + QueryTile::kBytes;
        const auto begin_tile = [&](int tile) {
            std::byte* to = tiles + tile % 2 * 2 * KeyTile::kBytes;
            load_tile<KeyTile, kThreadsMax>(block, to, keys, tile * kKeys, mask.keys());
            load_tile<KeyTile, kThreadsMax>(
                block, to + KeyTile::kBytes, values, tile * kKeys, mask.keys());
        };
        const KeyRange seen = mask.seen_by_some(first, first + kQueries);
        const int begin = seen.first / kKeys;
        const int end = (seen.end + kKeys - 1) / kKeys;
        load_tile<QueryTile, kThreadsMax>(
            block, queries, q.head(sequence, head, kDim), first, mask.queries());
        if (begin < end) {
            begin_tile(begin);
        }
        block.commit();

        const int own_row = block.warp() * kWarpRows;
        Rows rows;
        for (int i = 0; i < 2 * kHalves; ++i) {
            rows.maximum[i / 2][i % 2] = -kInfinity;
        }
        const bool real = first + own_row < mask.queries();
        const KeyRange whole = real ? mask.seen_by_all(first + own_row, first + own_row + kWarpRows)
                                    : KeyRange{0, mask.keys()};
        for (int tile = begin; tile < end; ++tile) {
            block.template wait<0>();
            Cores::publish(block);
            block.sync();
            if (tile + 1 < end) {
                begin_tile(tile + 1);
                block.commit();
            }
            const std::byte* key_tile = tiles + tile % 2 * 2 * KeyTile::kBytes;
            const int key = tile * kKeys;
            Scores scores;
            Cores::template multiply_transposed<QueryTile, KeyTile>(
                block, queries, own_row, key_tile, scores);
            Cores::finish(block);
            if (key < whole.first || key + kKeys > whole.end) {
                hide(block, first + own_row, key, scores);
            }
            ORRERY_UNROLL
            for (int i = 0; i < 2 * kHalves; ++i) {
                exponentials(block, i / 2, i % 2, scores, rows);
            }
            if constexpr (kDropout) {
                drop(block, sequence, head, first + own_row, key, scores);
            }
            Cores::template add_product<KeyTile>(
                block, scores, key_tile + KeyTile::kBytes, rows.output);
            Cores::finish(block);
        }
        block.template wait<0>();
        // Without a tile, other threads' copies of the queries may still be in flight
        block.sync();
        finish_rows(block, queries, own_row, first, sequence, head, rows);
    }

    // Masks the keys, from `key` on, that the warp's queries, from `first` on, do not see.
    template <class Block>
    ORRERY_DEVICE void hide(Block& block, int first, int key, Scores& scores) const {
        ORRERY_UNROLL
        for (int half = 0; half < kHalves; ++half) {
            ORRERY_UNROLL
            for (int j = 0; j < 2; ++j) {
                const int row = first + 16 * half + block.lane() / 4 + 8 * j;
                const KeyRange seen = row < mask.queries() ? mask.seen_by(row) : KeyRange{};
                ORRERY_UNROLL
                for (int i = 0; i < kKeys / 4; ++i) {
                    const int column = key + i / 2 * 8 + block.lane() % 4 * 2 + i % 2;
                    if (column < seen.first || column >= seen.end) {
                        scores[half][i / 2][2 * j + i % 2] = -kInfinity;
                    }
                }
            }
        }
    }

    // Turns scores into exponentials relative to the new maximum of the row, and rescales earlier
    // sums.
    template <class Block>
    ORRERY_DEVICE void exponentials(
        Block& block, int half, int i, Scores& scores, Rows& rows) const {
        const float before = rows.maximum[half][i];
        float maximum = before;
        ORRERY_UNROLL
        for (int n = 0; n < kKeys / 8; ++n) {
            maximum = fmaxf(maximum, fmaxf(scores[half][n][2 * i], scores[half][n][2 * i + 1]));
        }
        maximum = fmaxf(maximum, block.shuffle_xor(maximum, 1));
        maximum = fmaxf(maximum, block.shuffle_xor(maximum, 2));
        const float factor = scale * kLog2e;
        const float base = maximum == -kInfinity ? 0.0f : maximum * factor;
        const float correction = block.exp2_approx(fused(before, factor, -base));
        float sum = rows.sum[half][i] * correction;
        ORRERY_UNROLL
        for (int n = 0; n < kKeys / 8; ++n) {
            ORRERY_UNROLL
            for (int j = 2 * i; j < 2 * i + 2; ++j) {
                scores[half][n][j] = block.exp2_approx(fused(scores[half][n][j], factor, -base));
                sum += scores[half][n][j];
            }
        }
        rows.sum[half][i] = sum;
        rows.maximum[half][i] = maximum;
        ORRERY_UNROLL
        for (int n = 0; n < kDim / 8; ++n) {
            rows.output[half][n][2 * i] *= correction;
            rows.output[half][n][2 * i + 1] *= correction;
        }
    }

    template <class Block>
    ORRERY_DEVICE void drop(Block& block,
                            std::int64_t sequence,
                            std::int64_t head,
                            int first,
                            int key,
                            Scores& scores) const {
        ProbabilityFactors factor{dropout, mask, output.batch, sequence, head};
        ORRERY_UNROLL
        for (int half = 0; half < kHalves; ++half) {
            ORRERY_UNROLL
            for (int j = 0; j < 4; ++j) {
                ORRERY_UNROLL
                for (int n = 0; n < kKeys / 8; ++n) {
                    const int row = first + 16 * half + block.lane() / 4 + 8 * (j / 2);
                    const int column = key + 8 * n + block.lane() % 4 * 2 + j % 2;
                    scores[half][n][j] *= factor(row, column);
                }
            }
        }
    }

    // The warp's rows of the query tile are no longer needed. They stage the output, and before it
    // the rows of earlier steps.
    template <class Block>
    ORRERY_DEVICE void finish_rows(Block& block,
                                   std::byte* queries,
                                   int own_row,
                                   int first,
                                   std::int64_t sequence,
                                   std::int64_t head,
                                   Rows& rows) const {
        const HeadRows<Bf16> out = output.head(sequence, head, kDim);
        block.sync_warp();
        if (merge) {
            rows_to_tile<QueryTile, kWarpRows>(block, out, first, mask.queries(), queries, own_row);
            block.sync_warp();
        }
        ORRERY_UNROLL
        for (int half = 0; half < kHalves; ++half) {
            float now[2];
            float before[2];
            ORRERY_UNROLL
            for (int i = 0; i < 2; ++i) {
                float sum = rows.sum[half][i];
                sum += block.shuffle_xor(sum, 1);
                sum += block.shuffle_xor(sum, 2);
                const int row = first + own_row + 16 * half + block.lane() / 4 + 8 * i;
                const MergedRow merged = write_statistic(
                    block,
                    row,
                    sequence,
                    head,
                    sum > 0.0f ? rows.maximum[half][i] * scale + logf(sum) : -kInfinity);
                now[i] = sum > 0.0f ? merged.now / sum : 0.0f;
                before[i] = merged.before;
            }
            const int row = own_row + 16 * half;
            if (merge) {
                merge_tile(block, queries, row, before, now, rows.output[half]);
            } else {
                sums_to_tile<QueryTile>(block, rows.output[half], now[0], now[1], queries, row);
            }
        }
        tile_to_rows<QueryTile, kWarpRows>(
            block, queries, own_row, out, first, mask.queries(), false);
    }

    // For a row that the four lanes of a quad share.
    template <class Block>
    ORRERY_DEVICE MergedRow write_statistic(
        Block& block, int row, std::int64_t sequence, std::int64_t head, float now) const {
        const bool real = row < mask.queries();
        float* statistic = log_sum_exp + (row * output.batch + sequence) * heads + head;
        const MergedRow merged = merged_row(merge && real ? *statistic : -kInfinity, now);
        block.sync_warp();  // all lanes have read it
        if (real && block.lane() % 4 == 0) {
            *statistic = merged.log_sum_exp;
        }
        return merged;
    }

    // tile = before tile + now sums. A term with weight 0 is not read.
    template <class Block>
    ORRERY_DEVICE void merge_tile(Block& block,
                                  std::byte* tile,
                                  int first,
                                  const float (&before)[2],
                                  const float (&now)[2],
                                  const float (&sums)[kDim / 8][4]) const {
        ORRERY_UNROLL
        for (int n = 0; n < kDim / 8; ++n) {
            ORRERY_UNROLL
            for (int i = 0; i < 2; ++i) {
                const int row = first + block.lane() / 4 + 8 * i;
                auto* pair = reinterpret_cast<std::uint32_t*>(tile + QueryTile::offset(row, n) +
                                                              4 * (block.lane() % 4));
                const bool weighs = before[i] > 0.0f;
                const float low = weighs ? before[i] * low_of(*pair) : 0.0f;
                const float high = weighs ? before[i] * high_of(*pair) : 0.0f;
                *pair = pack_bf16(fused(now[i], sums[n][2 * i], low),
                                  fused(now[i], sums[n][2 * i + 1], high));
            }
        }
    }

    Geometry geometry() const {
        return {.blocks_x = (mask.query.length + kQueries - 1) / kQueries,
                .blocks_y = heads * output.batch,
                .threads = kThreadsMax,
                .shared_bytes = kSharedBytes};
    }
};

}  // namespace orrery::device
