// SPDX-License-Identifier: Apache-2.0
// Attention without tensor cores, for cases that the other kernels do not support (fp32, other head
// sizes up to 256). A warp has one query (for dK and dV, one key) of one head and loops over the
// rows of the other side; a lane has the columns lane, lane + 32 .... Sums are in fp32, ascending.
#pragma once

#include "kernels/attention/attention_cuda.h"
#include "kernels/attention/attention_forward_device.h"

namespace orrery::device {

inline constexpr int kRowColumns = 8;  // the most columns of a lane
static_assert(kRowColumns * kWarp == kAttentionHeadMax);
inline constexpr int kRowWarps = 4;

template <class T>
struct AttentionRowsArguments {
    AttentionMask mask;
    std::int64_t heads;
    std::int64_t kv_heads;
    std::int64_t head_dim;
    float scale;
    HeadTensor<const T> q;
    HeadTensor<const T> k;
    HeadTensor<const T> v;
    bool drops;
    ProbabilityDropout dropout;

    ORRERY_HOST_DEVICE ProbabilityFactors factors(std::int64_t sequence, std::int64_t head) const {
        return {dropout, mask, q.batch, sequence, head};
    }
    ORRERY_HOST_DEVICE std::int64_t kv_head(std::int64_t head) const {
        return head / (heads / kv_heads);
    }
    ORRERY_HOST_DEVICE std::int64_t statistic(std::int64_t query,
                                              std::int64_t sequence,
                                              std::int64_t head) const {
        return (query * q.batch + sequence) * heads + head;
    }
};

using RowPart = float[kRowColumns];

template <class T, class Block>
ORRERY_DEVICE void load_row_part(
    Block& block, HeadRows<const T> rows, std::int64_t row, std::int64_t head_dim, RowPart& part) {
    ORRERY_UNROLL
    for (int i = 0; i < kRowColumns; ++i) {
        const int column = block.lane() + kWarp * i;
        part[i] = column < head_dim ? widen(rows.data[row * rows.stride + column]) : 0.0f;
    }
}

// row = before row + factor part. A term with weight 0 is not read.
template <class T, class Block>
ORRERY_DEVICE void store_row_part(Block& block,
                                  HeadRows<T> rows,
                                  std::int64_t row,
                                  std::int64_t head_dim,
                                  const RowPart& part,
                                  float factor,
                                  float before) {
    ORRERY_UNROLL
    for (int i = 0; i < kRowColumns; ++i) {
        const int column = block.lane() + kWarp * i;
        if (column < head_dim) {
            T& to = rows.data[row * rows.stride + column];
            narrow(part[i] * factor + (before != 0.0f ? before * widen(to) : 0.0f), to);
        }
    }
}

template <class Block>
ORRERY_DEVICE float row_product(Block& block, const RowPart& a, const RowPart& b) {
    float sum = 0.0f;
    ORRERY_UNROLL
    for (int i = 0; i < kRowColumns; ++i) {
        sum += a[i] * b[i];
    }
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
        sum += block.shuffle_xor(sum, mask);
    }
    return sum;
}

ORRERY_HOST_DEVICE void add_multiple(float factor, const RowPart& x, RowPart& sum) {
    ORRERY_UNROLL
    for (int i = 0; i < kRowColumns; ++i) {
        sum[i] += factor * x[i];
    }
}

inline Geometry row_geometry(std::int64_t rows, std::int64_t heads) {
    return {.blocks_x = (rows + kRowWarps - 1) / kRowWarps,
            .blocks_y = heads,
            .threads = kRowWarps * kWarp};
}

template <class T>
struct AttentionRowsForwardKernel {
    static constexpr int kThreadsMax = kRowWarps * kWarp;
    AttentionRowsArguments<T> a;
    HeadTensor<T> output;
    float* log_sum_exp;
    bool merge;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t query = block.x() * kRowWarps + block.warp();
        if (query >= a.mask.queries()) {
            return;
        }
        const std::int64_t sequence = block.y() / a.heads;
        const std::int64_t head = block.y() % a.heads;
        const HeadRows<const T> keys = a.k.head(sequence, a.kv_head(head), a.head_dim);
        const HeadRows<const T> values = a.v.head(sequence, a.kv_head(head), a.head_dim);
        RowPart q;
        load_row_part(block, a.q.head(sequence, head, a.head_dim), query, a.head_dim, q);
        RowPart sum = {};
        float maximum = -kInfinity;
        float total = 0.0f;
        ProbabilityFactors factor = a.factors(sequence, head);
        const KeyRange seen = a.mask.seen_by(static_cast<int>(query));
        for (int key = seen.first; key < seen.end; ++key) {
            RowPart k;
            RowPart v;
            load_row_part(block, keys, key, a.head_dim, k);
            load_row_part(block, values, key, a.head_dim, v);
            const float score = a.scale * row_product(block, q, k);
            const float larger = fmaxf(maximum, score);
            const float correction = expf(maximum - larger);
            const float p = expf(score - larger);
            const float kept = a.drops ? p * factor(static_cast<int>(query), key) : p;
            ORRERY_UNROLL
            for (int i = 0; i < kRowColumns; ++i) {
                sum[i] = sum[i] * correction + kept * v[i];
            }
            total = total * correction + p;
            maximum = larger;
        }
        float& statistic = log_sum_exp[a.statistic(query, sequence, head)];
        const MergedRow merged = merged_row(merge ? statistic : -kInfinity,
                                            total > 0.0f ? maximum + logf(total) : -kInfinity);
        const float now = total > 0.0f ? merged.now / total : 0.0f;
        const HeadRows<T> out = output.head(sequence, head, a.head_dim);
        store_row_part(block, out, query, a.head_dim, sum, now, merged.before);
        block.sync_warp();  // all lanes have read the statistic
        if (block.lane() == 0) {
            statistic = merged.log_sum_exp;
        }
    }
};

template <class T>
struct AttentionRowsBackward {
    AttentionRowsArguments<T> a;
    HeadTensor<const T> output;
    HeadTensor<const T> doutput;
    const float* log_sum_exp;

    // For one query and one key: the probability after dropout, and dS without the scale of the
    // scores.
    struct Pair {
        float p;
        float ds;
    };
    template <class Block>
    ORRERY_DEVICE Pair pair(Block& block,
                            const RowPart& q,
                            const RowPart& k,
                            const RowPart& v,
                            const RowPart& d,
                            float log_sum,
                            float row_sum,
                            float factor) const {
        const float p = expf(a.scale * row_product(block, q, k) - log_sum);
        return {p * factor, p * (factor * row_product(block, d, v) - row_sum)};
    }
};

template <class T>
struct AttentionRowsQueryGradientKernel {
    static constexpr int kThreadsMax = kRowWarps * kWarp;
    AttentionRowsBackward<T> b;
    HeadTensor<T> dq;
    bool add;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const auto& a = b.a;
        const std::int64_t query = block.x() * kRowWarps + block.warp();
        if (query >= a.mask.queries()) {
            return;
        }
        const std::int64_t sequence = block.y() / a.heads;
        const std::int64_t head = block.y() % a.heads;
        RowPart q;
        RowPart o;
        RowPart d;
        load_row_part(block, a.q.head(sequence, head, a.head_dim), query, a.head_dim, q);
        load_row_part(block, b.output.head(sequence, head, a.head_dim), query, a.head_dim, o);
        load_row_part(block, b.doutput.head(sequence, head, a.head_dim), query, a.head_dim, d);
        const float row_sum = row_product(block, o, d);
        const float log_sum = b.log_sum_exp[a.statistic(query, sequence, head)];
        const HeadRows<const T> keys = a.k.head(sequence, a.kv_head(head), a.head_dim);
        const HeadRows<const T> values = a.v.head(sequence, a.kv_head(head), a.head_dim);
        RowPart sum = {};
        ProbabilityFactors factor = a.factors(sequence, head);
        const KeyRange seen = a.mask.seen_by(static_cast<int>(query));
        for (int key = seen.first; key < seen.end; ++key) {
            RowPart k;
            RowPart v;
            load_row_part(block, keys, key, a.head_dim, k);
            load_row_part(block, values, key, a.head_dim, v);
            const float f = a.drops ? factor(static_cast<int>(query), key) : 1.0f;
            add_multiple(b.pair(block, q, k, v, d, log_sum, row_sum, f).ds, k, sum);
        }
        const HeadRows<T> to = dq.head(sequence, head, a.head_dim);
        store_row_part(block, to, query, a.head_dim, sum, a.scale, add ? 1.0f : 0.0f);
    }
};

template <class T>
struct AttentionRowsKeyGradientKernel {
    static constexpr int kThreadsMax = kRowWarps * kWarp;
    AttentionRowsBackward<T> b;
    HeadTensor<T> dk;
    HeadTensor<T> dv;
    bool add;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const auto& a = b.a;
        const std::int64_t key = block.x() * kRowWarps + block.warp();
        if (key >= a.mask.keys()) {
            return;
        }
        const std::int64_t sequence = block.y() / a.kv_heads;
        const std::int64_t kv_head = block.y() % a.kv_heads;
        const std::int64_t group = a.heads / a.kv_heads;
        RowPart k;
        RowPart v;
        load_row_part(block, a.k.head(sequence, kv_head, a.head_dim), key, a.head_dim, k);
        load_row_part(block, a.v.head(sequence, kv_head, a.head_dim), key, a.head_dim, v);
        RowPart key_sum = {};
        RowPart value_sum = {};
        for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
            ProbabilityFactors factor = a.factors(sequence, head);
            for (int query = 0; query < a.mask.queries(); ++query) {
                const KeyRange seen = a.mask.seen_by(query);
                if (key < seen.first || key >= seen.end) {
                    continue;
                }
                RowPart q;
                RowPart o;
                RowPart d;
                load_row_part(block, a.q.head(sequence, head, a.head_dim), query, a.head_dim, q);
                load_row_part(
                    block, b.output.head(sequence, head, a.head_dim), query, a.head_dim, o);
                load_row_part(
                    block, b.doutput.head(sequence, head, a.head_dim), query, a.head_dim, d);
                const float log_sum = b.log_sum_exp[a.statistic(query, sequence, head)];
                const float f = a.drops ? factor(query, static_cast<int>(key)) : 1.0f;
                const auto pair = b.pair(block, q, k, v, d, log_sum, row_product(block, o, d), f);
                add_multiple(pair.p, d, value_sum);
                add_multiple(pair.ds, q, key_sum);
            }
        }
        const float before = add ? 1.0f : 0.0f;
        const HeadRows<T> to_k = dk.head(sequence, kv_head, a.head_dim);
        const HeadRows<T> to_v = dv.head(sequence, kv_head, a.head_dim);
        store_row_part(block, to_k, key, a.head_dim, key_sum, a.scale, before);
        store_row_part(block, to_v, key, a.head_dim, value_sum, 1.0f, before);
    }
};

}  // namespace orrery::device
