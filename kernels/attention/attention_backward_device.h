// SPDX-License-Identifier: Apache-2.0
// Flash attention backward on tensor cores (attention_cores.h), bf16, head sizes 64 and 128,
// without atomics: one warp sums every gradient in a fixed order. Two passes over the score tiles
// (P = exp(S - log-sum-exp), D = rowsum(dO O) computed before, dS = P (dO V^T - D)):
//   keys:    a block has 128 keys and loops over queries; S^T = K Q^T, dV = P^T dO, dK = dS^T Q
//            scale;
//   queries: a block has 128 queries and loops over keys; S = Q K^T, dQ = dS K scale.
// Both compute S: seven products instead of the five with an atomic dQ. In both passes a warp has
// 16 rows of its own tiles and all columns of the looped tiles, so that P and dS pass from the sums
// of one product to the operand of the next. With dropout (kDropout) and its factors F, dV uses P
// F, and dS is P (F dO V^T - D).
#pragma once

#include "kernels/attention/attention_forward_device.h"

namespace orrery::device {

// The statistics of a query that the backward pass needs.
struct alignas(8) QueryStatistic {
    // log_sum_exp to base two; +infinity (all probabilities are 0) if no key is visible.
    float exponent;
    float row_sum;  // D
};

// The layout is [batch, heads, pitch], so that the statistics of consecutive queries are copied 16
// bytes at a time.
ORRERY_HOST_DEVICE std::int64_t statistics_pitch(std::int64_t queries) {
    return (queries + 1) / 2 * 2;
}

// Computes the statistics for each [seq_q, batch, heads], from rows of kDim consecutive elements.
template <int kDim>
struct AttentionStatisticsKernel {
    static constexpr int kThreadsMax = 256;
    static constexpr int kLanes = kDim / 8;  // per row
    const Bf16* output;
    const Bf16* doutput;
    const float* log_sum_exp;  // [seq_q, batch, heads]
    QueryStatistic* statistics;
    std::int64_t queries;
    std::int64_t sequence_heads;  // batch * heads

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t thread = block.x() * kThreadsMax + block.thread();
        const std::int64_t row = thread / kLanes;
        const bool real = row < queries * sequence_heads;
        float sum = 0.0f;
        if (real) {
            float o[8];
            float d[8];
            load(output + thread * 8, o);
            load(doutput + thread * 8, d);
            ORRERY_UNROLL
            for (int i = 0; i < 8; ++i) {
                sum += o[i] * d[i];
            }
        }
        for (int mask = kLanes / 2; mask > 0; mask /= 2) {
            sum += block.shuffle_xor(sum, mask);
        }
        if (real && thread % kLanes == 0) {
            const std::int64_t query = row / sequence_heads;
            QueryStatistic* own =
                statistics + row % sequence_heads * statistics_pitch(queries) + query;
            const float value = log_sum_exp[row];
            own[0] = {value == -kInfinity ? kInfinity : value * kLog2e, sum};
            if (query + 1 == queries && queries % 2 == 1) {
                own[1] = {kInfinity, 0.0f};  // padding, copied with the last query
            }
        }
    }
    Geometry geometry() const {
        return {.blocks_x = (queries * sequence_heads * kLanes + kThreadsMax - 1) / kThreadsMax,
                .threads = kThreadsMax};
    }
};

struct AttentionBackwardArguments {
    AttentionMask mask;
    std::int64_t heads;
    std::int64_t kv_heads;
    float scale;
    HeadTensor<const Bf16> q;
    HeadTensor<const Bf16> k;
    HeadTensor<const Bf16> v;
    HeadTensor<const Bf16> doutput;
    const QueryStatistic* statistics;
    HeadTensor<Bf16> dq;
    HeadTensor<Bf16> dk;
    HeadTensor<Bf16> dv;
    bool add_dq;
    bool add_dkv;
    ProbabilityDropout dropout;

    // The statistics of query 0.
    ORRERY_HOST_DEVICE const QueryStatistic* statistics_of(std::int64_t sequence,
                                                           std::int64_t head) const {
        return statistics + (sequence * heads + head) * statistics_pitch(mask.queries());
    }
};

// The first i of 0 ... count - 1 with property(i), or count. The property must hold for all later
// i, too.
template <class Property>
ORRERY_DEVICE int first_with(int count, const Property& property) {
    int low = 0;
    int high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (property(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

template <int kDim, bool kDropout, class Cores>
struct AttentionKeyGradientKernel {
    static constexpr int kThreadsMax = 256;
    static constexpr int kKeys = 128;
    static constexpr int kQueries = 64;
    using OwnTile = typename Cores::template Tile<kDim, kKeys>;
    using PassingTile = typename Cores::template Tile<kDim, kQueries>;
    static constexpr int kOwnBytes = OwnTile::kBytes;
    static constexpr int kTileBytes = PassingTile::kBytes;
    // K, V; two stages of Q, dO; two stages of the queries' statistics, loaded only for tiles that
    // need a mask.
    struct alignas(16) Statistics {
        QueryStatistic of[kQueries];
        KeyRange seen[kQueries];
    };
    static constexpr int kSharedBytes =
        2 * kOwnBytes + 4 * kTileBytes + 2 * static_cast<int>(sizeof(Statistics));

    AttentionBackwardArguments a;

    struct Sums {
        float dk[1][kDim / 8][4] = {};
        float dv[1][kDim / 8][4] = {};
    };
    struct QueryTile {
        std::int64_t sequence;
        std::int64_t head;
        int number;
        int stage;
    };

    template <class Block>
    ORRERY_DEVICE void begin_queries(Block& block,
                                     std::byte* tiles,
                                     int stage,
                                     std::int64_t sequence,
                                     std::int64_t head,
                                     int tile,
                                     int first_key) const {
        const int first = tile * kQueries;
        std::byte* to = tiles + stage * 2 * kTileBytes;
        const int queries = a.mask.queries();
        load_tile<PassingTile, kThreadsMax>(
            block, to, a.q.head(sequence, head, kDim), first, queries);
        load_tile<PassingTile, kThreadsMax>(
            block, to + kTileBytes, a.doutput.head(sequence, head, kDim), first, queries);
        Statistics& statistics = statistics_of(tiles, stage);
        if (block.thread() < kQueries / 2) {
            const int query = 2 * block.thread();
            block.copy_async(
                &statistics.of[query],
                a.statistics_of(sequence, head) + (first + query < queries ? first + query : 0),
                first + query < queries);
        }
        if (needs_mask(first, first_key, kKeys) && block.thread() < kQueries) {
            const int query = first + block.thread();
            statistics.seen[block.thread()] = query < queries ? a.mask.seen_by(query) : KeyRange{};
        }
    }
    // Whether some query of the tile from `query` on does not see one of the keys, or does not
    // exist.
    ORRERY_DEVICE bool needs_mask(int query, int key, int keys) const {
        const KeyRange whole = a.mask.seen_by_all(query, query + kQueries);
        return key < whole.first || key + keys > whole.end || query + kQueries > a.mask.queries();
    }
    ORRERY_DEVICE Statistics& statistics_of(std::byte* tiles, int stage) const {
        return reinterpret_cast<Statistics*>(tiles + 4 * kTileBytes)[stage];
    }

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        // Early keys are seen by most queries: their blocks go first
        const int first = static_cast<int>(block.x()) * kKeys;
        const std::int64_t sequence = block.y() / a.kv_heads;
        const std::int64_t kv_head = block.y() % a.kv_heads;
        const int group = static_cast<int>(a.heads / a.kv_heads);
        std::byte* keys = block.shared();
        std::byte* values = keys + kOwnBytes;
        std::byte* tiles = values + kOwnBytes;
        load_tile<OwnTile, kThreadsMax>(
            block, keys, a.k.head(sequence, kv_head, kDim), first, a.mask.keys());
        load_tile<OwnTile, kThreadsMax>(
            block, values, a.v.head(sequence, kv_head, kDim), first, a.mask.keys());

        // The tiles that contain a query which sees a key of the block.
        const int all = (a.mask.queries() + kQueries - 1) / kQueries;
        const auto seen = [&](int tile) {
            return a.mask.seen_by_some(tile * kQueries, (tile + 1) * kQueries);
        };
        const int begin = first_with(all, [&](int tile) { return seen(tile).end > first; });
        const int end = first_with(all, [&](int t) { return seen(t).first >= first + kKeys; });
        const int tiles_per_head = end > begin ? end - begin : 0;
        const int count = group * tiles_per_head;
        const auto begin_step = [&](int step) {
            begin_queries(block,
                          tiles,
                          step % 2,
                          sequence,
                          kv_head * group + step / tiles_per_head,
                          begin + step % tiles_per_head,
                          first);
        };
        if (count > 0) {
            begin_step(0);
        }
        block.commit();
        Sums sums;
        for (int step = 0; step < count; ++step) {
            block.template wait<0>();
            Cores::publish(block);
            block.sync();
            if (step + 1 < count) {
                begin_step(step + 1);
                block.commit();
            }
            const QueryTile tile{.sequence = sequence,
                                 .head = kv_head * group + step / tiles_per_head,
                                 .number = begin + step % tiles_per_head,
                                 .stage = step % 2};
            add_queries(block, keys, tiles, tile, first, sums);
        }
        block.template wait<0>();
        block.sync();
        const int row = 16 * block.warp();
        sums_to_tile<OwnTile>(block, sums.dk[0], a.scale, a.scale, keys, row);
        sums_to_tile<OwnTile>(block, sums.dv[0], 1.0f, 1.0f, values, row);
        const HeadRows<Bf16> dk = a.dk.head(sequence, kv_head, kDim);
        const HeadRows<Bf16> dv = a.dv.head(sequence, kv_head, kDim);
        tile_to_rows<OwnTile, 16>(block, keys, row, dk, first, a.mask.keys(), a.add_dkv);
        tile_to_rows<OwnTile, 16>(block, values, row, dv, first, a.mask.keys(), a.add_dkv);
    }

    template <class Block>
    ORRERY_DEVICE void add_queries(Block& block,
                                   const std::byte* keys,
                                   std::byte* tiles,
                                   const QueryTile& tile,
                                   int first_key,
                                   Sums& sums) const {
        const std::byte* queries = tiles + tile.stage * 2 * kTileBytes;
        const std::byte* doutput = queries + kTileBytes;
        const Statistics& statistics = statistics_of(tiles, tile.stage);
        const int row = 16 * block.warp();
        const int first_query = tile.number * kQueries;
        const int key = first_key + row;
        const bool masked = needs_mask(first_query, key, 16);
        float p[1][kQueries / 8][4];
        float ds[1][kQueries / 8][4];
        Cores::template multiply_transposed<OwnTile, PassingTile>(block, keys, row, queries, p);
        Cores::template multiply_transposed<OwnTile, PassingTile>(
            block, keys + kOwnBytes, row, doutput, ds);
        Cores::finish(block);
        ProbabilityFactors factor{a.dropout, a.mask, a.q.batch, tile.sequence, tile.head};
        ORRERY_UNROLL
        for (int n = 0; n < kQueries / 8; ++n) {
            ORRERY_UNROLL
            for (int i = 0; i < 4; ++i) {
                const int query = 8 * n + block.lane() % 4 * 2 + i % 2;
                const int own = key + block.lane() / 4 + 8 * (i / 2);
                const QueryStatistic own_query = statistics.of[query];
                const float exponent = fused(p[0][n][i], a.scale * kLog2e, -own_query.exponent);
                p[0][n][i] = block.exp2_approx(exponent);
                if (masked) {
                    const KeyRange seen = statistics.seen[query];
                    p[0][n][i] = own >= seen.first && own < seen.end ? p[0][n][i] : 0.0f;
                }
                if constexpr (kDropout) {
                    const float f = factor(first_query + query, own);
                    ds[0][n][i] = p[0][n][i] * (f * ds[0][n][i] - own_query.row_sum);
                    p[0][n][i] *= f;
                } else {
                    ds[0][n][i] = p[0][n][i] * (ds[0][n][i] - own_query.row_sum);
                }
            }
        }
        Cores::template add_products<PassingTile>(block, p, doutput, sums.dv, ds, queries, sums.dk);
        Cores::finish(block);
    }

    Geometry geometry() const {
        return {.blocks_x = (a.mask.key.length + kKeys - 1) / kKeys,
                .blocks_y = a.kv_heads * a.q.batch,
                .threads = kThreadsMax,
                .shared_bytes = kSharedBytes};
    }
};

template <int kDim, bool kDropout, class Cores>
struct AttentionQueryGradientKernel {
    static constexpr int kThreadsMax = 256;
    static constexpr int kQueries = 128;
    static constexpr int kKeys = 64;
    using OwnTile = typename Cores::template Tile<kDim, kQueries>;
    using PassingTile = typename Cores::template Tile<kDim, kKeys>;
    static constexpr int kOwnBytes = OwnTile::kBytes;
    static constexpr int kTileBytes = PassingTile::kBytes;
    static constexpr int kSharedBytes = 2 * kOwnBytes + 4 * kTileBytes;  // Q, dO; K, V twice

    AttentionBackwardArguments a;

    // A thread's two rows.
    struct Rows {
        std::int64_t sequence;
        std::int64_t head;
        int first;  // first row in the sequence
        float exponent[2];
        float row_sum[2];
        KeyRange seen[2];
        KeyRange whole;  // the keys that all rows of the warp see
        float dq[1][kDim / 8][4] = {};
    };

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const int first = static_cast<int>(block.blocks_x() - 1 - block.x()) * kQueries;
        const std::int64_t sequence = block.y() / a.heads;
        const std::int64_t head = block.y() % a.heads;
        const std::int64_t kv_head = head / (a.heads / a.kv_heads);
        std::byte* queries = block.shared();
        std::byte* tiles = queries + 2 * kOwnBytes;
        load_tile<OwnTile, kThreadsMax>(
            block, queries, a.q.head(sequence, head, kDim), first, a.mask.queries());
        load_tile<OwnTile, kThreadsMax>(block,
                                        queries + kOwnBytes,
                                        a.doutput.head(sequence, head, kDim),
                                        first,
                                        a.mask.queries());
        const auto begin_tile = [&](int tile) {
            std::byte* to = tiles + tile % 2 * 2 * kTileBytes;
            const HeadRows<const Bf16> keys = a.k.head(sequence, kv_head, kDim);
            const HeadRows<const Bf16> values = a.v.head(sequence, kv_head, kDim);
            load_tile<PassingTile, kThreadsMax>(block, to, keys, tile * kKeys, a.mask.keys());
            load_tile<PassingTile, kThreadsMax>(
                block, to + kTileBytes, values, tile * kKeys, a.mask.keys());
        };
        const KeyRange seen = a.mask.seen_by_some(first, first + kQueries);
        const int begin = seen.first / kKeys;
        const int end = (seen.end + kKeys - 1) / kKeys;
        if (begin < end) {
            begin_tile(begin);
        }
        block.commit();
        Rows rows;
        const int own_row = 16 * block.warp();
        begin_rows(block, first + own_row, sequence, head, rows);
        for (int tile = begin; tile < end; ++tile) {
            block.template wait<0>();
            Cores::publish(block);
            block.sync();
            if (tile + 1 < end) {
                begin_tile(tile + 1);
                block.commit();
            }
            add_keys(block, queries, tiles + tile % 2 * 2 * kTileBytes, tile * kKeys, rows);
        }
        block.template wait<0>();
        block.sync();
        sums_to_tile<OwnTile>(block, rows.dq[0], a.scale, a.scale, queries, own_row);
        tile_to_rows<OwnTile, 16>(block,
                                  queries,
                                  own_row,
                                  a.dq.head(sequence, head, kDim),
                                  first,
                                  a.mask.queries(),
                                  a.add_dq);
    }

    template <class Block>
    ORRERY_DEVICE void begin_rows(
        Block& block, int first, std::int64_t sequence, std::int64_t head, Rows& rows) const {
        rows.sequence = sequence;
        rows.head = head;
        rows.first = first + block.lane() / 4;
        rows.whole = first < a.mask.queries() ? a.mask.seen_by_all(first, first + 16)
                                              : KeyRange{0, a.mask.keys()};
        ORRERY_UNROLL
        for (int i = 0; i < 2; ++i) {
            const int row = rows.first + 8 * i;
            const bool real = row < a.mask.queries();
            const QueryStatistic statistic = a.statistics_of(sequence, head)[real ? row : 0];
            rows.exponent[i] = real ? statistic.exponent : kInfinity;
            rows.row_sum[i] = real ? statistic.row_sum : 0.0f;
            rows.seen[i] = real ? a.mask.seen_by(row) : KeyRange{};
        }
    }

    template <class Block>
    ORRERY_DEVICE void add_keys(Block& block,
                                const std::byte* queries,
                                const std::byte* keys,
                                int first_key,
                                Rows& rows) const {
        const int own_row = 16 * block.warp();
        float p[1][kKeys / 8][4];
        float ds[1][kKeys / 8][4];
        Cores::template multiply_transposed<OwnTile, PassingTile>(block, queries, own_row, keys, p);
        Cores::template multiply_transposed<OwnTile, PassingTile>(
            block, queries + kOwnBytes, own_row, keys + kTileBytes, ds);
        Cores::finish(block);
        const bool masked = first_key < rows.whole.first || first_key + kKeys > rows.whole.end;
        ProbabilityFactors factor{a.dropout, a.mask, a.q.batch, rows.sequence, rows.head};
        ORRERY_UNROLL
        for (int n = 0; n < kKeys / 8; ++n) {
            ORRERY_UNROLL
            for (int i = 0; i < 4; ++i) {
                const int key = first_key + 8 * n + block.lane() % 4 * 2 + i % 2;
                const float exponent = fused(p[0][n][i], a.scale * kLog2e, -rows.exponent[i / 2]);
                p[0][n][i] = block.exp2_approx(exponent);
                if (masked) {
                    const KeyRange seen = rows.seen[i / 2];
                    p[0][n][i] = key >= seen.first && key < seen.end ? p[0][n][i] : 0.0f;
                }
                if constexpr (kDropout) {
                    ds[0][n][i] *= factor(rows.first + 8 * (i / 2), key);
                }
                ds[0][n][i] = p[0][n][i] * (ds[0][n][i] - rows.row_sum[i / 2]);
            }
        }
        Cores::template add_product<PassingTile>(block, ds, keys, rows.dq);
        Cores::finish(block);
    }

    Geometry geometry() const {
        return {.blocks_x = (a.mask.query.length + kQueries - 1) / kQueries,
                .blocks_y = a.heads * a.q.batch,
                .threads = kThreadsMax,
                .shared_bytes = kSharedBytes};
    }
};

}  // namespace orrery::device
