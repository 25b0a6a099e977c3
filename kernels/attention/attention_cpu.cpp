// SPDX-License-Identifier: Apache-2.0
// One block of queries of one head at a time. Products use cpu::gemm directly on the columns of the
// packed tensors; the exponentials of a row come between them. Backward as in FlashAttention-2
// (Dao, arXiv 2307.08691, algorithm 2), with P = exp(S - log-sum-exp) and delta = rowsum(dO O):
//   dV = P^T dO, dS = P (dO V^T - delta) / sqrt(head_dim), dQ = dS K, dK = dS^T Q.
#include "kernels/attention/attention_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/gemm/gemm_cpu.h"
#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

constexpr std::int64_t kQueryBlock = 64;  // changes the rounding of dK and dV

struct RowRange {
    std::int64_t first = 0;
    std::int64_t end = 0;
    std::int64_t count() const { return end - first; }
};

std::size_t extent(std::int64_t a, std::int64_t b = 1) {
    return static_cast<std::size_t>(a * b);
}

std::int64_t query_columns(const AttentionShape& s) {
    return s.heads * s.head_dim;
}

void multiply(std::span<float> row, const std::vector<float>& factors) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] *= factors[i];
    }
}

// The local keys that a local query sees.
RowRange visible_keys(const AttentionShape& shape,
                      const AttentionPositions& positions,
                      std::int64_t query) {
    if (!shape.causal) {
        return {0, shape.seq_kv};
    }
    const std::int64_t position = positions.query.of(query);
    const std::int64_t end = positions.key.count_below(position + 1);
    const std::int64_t oldest = position + 1 - shape.window;
    return {shape.window > 0 ? positions.key.count_below(oldest) : 0, end};
}

// Consecutive rows of a head's columns, from token `row` of sequence `batch` on, as a matrix.
struct HeadRows {
    ConstTensorView tensor;
    std::int64_t stride;
};

template <class View>
View from_element(View tensor, std::int64_t first) {
    return slice(tensor, first, tensor.size - first);
}

struct Head {
    std::int64_t batch;
    std::int64_t index;  // query head
};

// The products of one head of one sequence, with buffers for blocks of queries.
class HeadProducts {
public:
    HeadProducts(const AttentionShape& shape, const AttentionPositions& positions)
        : shape_(shape),
          positions_(positions),
          scale_(1.0f / std::sqrt(static_cast<float>(shape.head_dim))),
          scores_(extent(std::min(kQueryBlock, shape.seq_q), shape.seq_kv)) {}

    float scale() const { return scale_; }
    std::int64_t key_head(std::int64_t head) const {
        return head / (shape_.heads / shape_.kv_heads);
    }
    std::int64_t element(std::int64_t width,
                         std::int64_t column,
                         Head head,
                         std::int64_t row) const {
        return (row * shape_.batch + head.batch) * width + column + head.index * shape_.head_dim;
    }
    HeadRows rows(ConstTokenColumns x, Head head, std::int64_t row) const {
        const std::int64_t first = element(x.width, x.first_column, head, row);
        return {from_element(x.tensor, std::min(first, x.tensor.size)), shape_.batch * x.width};
    }
    // Element indices in [seq_q, batch, heads, head_dim] and in [seq_q, batch, heads].
    std::int64_t output_element(Head head, std::int64_t query) const {
        return element(query_columns(shape_), 0, head, query);
    }
    std::int64_t statistics_element(Head head, std::int64_t query) const {
        return (query * shape_.batch + head.batch) * shape_.heads + head.index;
    }

    // The keys that at least one query of the block sees.
    RowRange block_keys(RowRange queries) const {
        return {visible_keys(shape_, positions_, queries.first).first,
                visible_keys(shape_, positions_, queries.end - 1).end};
    }
    // x y^T of [queries, head_dim] and [keys, head_dim].
    void product(const HeadRows& x,
                 const HeadRows& y,
                 RowRange queries,
                 RowRange keys,
                 float alpha,
                 std::vector<float>& result) const {
        gemm({.m = queries.count(),
              .n = keys.count(),
              .k = shape_.head_dim,
              .transpose_b = true,
              .row_stride_a = x.stride,
              .row_stride_b = y.stride},
             x.tensor,
             y.tensor,
             view_of(result),
             {.alpha = alpha});
    }
    // The scores of a block, in rows of keys.count(). The caller overwrites the masked ones.
    std::vector<float>& scores(const HeadRows& q,
                               const HeadRows& k,
                               RowRange queries,
                               RowRange keys) {
        product(q, k, queries, keys, scale_, scores_);
        return scores_;
    }
    // Calls work(visible part, whole row), and clears the masked part.
    template <class Work>
    void for_rows(RowRange queries,
                  RowRange keys,
                  std::vector<float>& block,
                  const Work& work) const {
        for (std::int64_t query = queries.first; query < queries.end; ++query) {
            const std::span<float> row = std::span{block}.subspan(
                extent(query - queries.first, keys.count()), extent(keys.count()));
            const RowRange seen = visible_keys(shape_, positions_, query);
            const std::int64_t first = seen.first - keys.first;
            const std::int64_t end = seen.end - keys.first;
            std::fill(row.begin(), row.begin() + first, 0.0f);
            std::fill(row.begin() + end, row.end(), 0.0f);
            work(query, row.subspan(extent(first), extent(end - first)));
        }
    }
    // The factor of dropout on each visible probability: 0 or 1 / (1 - rate).
    std::vector<float> dropout_factors(const AttentionDropout& dropout,
                                       Head head,
                                       std::int64_t query) const {
        const RowRange seen = visible_keys(shape_, positions_, query);
        const std::int64_t row = positions_.query.of(query) * shape_.batch + head.batch;
        const std::int64_t first =
            (row * dropout.all_heads + dropout.first_head + head.index) * dropout.sequence;
        const float kept = 1.0f / (1.0f - dropout.rate);
        std::vector<float> factors;
        RandomWords words{dropout.key, first};
        std::int64_t next = 0;  // position of the next value of `words`
        for (std::int64_t key = seen.first; key < seen.end; ++key) {
            if (const std::int64_t position = positions_.key.of(key); position != next) {
                words = RandomWords{dropout.key, first + position};
                next = position;
            }
            factors.push_back(uniform(words()) >= dropout.rate ? kept : 0.0f);
            ++next;
        }
        return factors;
    }

private:
    const AttentionShape& shape_;
    const AttentionPositions& positions_;
    float scale_;
    std::vector<float> scores_;
};

// Writes the output row and log-sum-exp of one query, for one block of keys or merged with earlier
// blocks.
void write_row(const AttentionForward& operands,
               std::int64_t output_element,
               std::int64_t statistics_element,
               std::span<float> row,
               float log_sum_exp) {
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    const float before = operands.merge ? load(operands.log_sum_exp, statistics_element) : kNothing;
    if (before == kNothing) {
        store_row(operands.output, output_element, row);
        store(operands.log_sum_exp, statistics_element, log_sum_exp);
        return;
    }
    const float larger = std::max(before, log_sum_exp);
    const float old_share = exponential(before - larger);
    const float new_share = exponential(log_sum_exp - larger);
    const float total = old_share + new_share;
    std::vector<float> merged(row.size());
    load_row(operands.output, output_element, merged);
    for (std::size_t i = 0; i < row.size(); ++i) {
        merged[i] = (old_share * merged[i] + new_share * row[i]) / total;
    }
    store_row(operands.output, output_element, merged);
    const double logarithm = std::log(static_cast<double>(total));
    store(operands.log_sum_exp, statistics_element, larger + static_cast<float>(logarithm));
}

void forward_block(const AttentionShape& shape,
                   const AttentionForward& operands,
                   HeadProducts& products,
                   Head head,
                   RowRange queries) {
    const Head key_head{head.batch, products.key_head(head.index)};
    const RowRange keys = products.block_keys(queries);
    std::vector<float>& scores = products.scores(products.rows(operands.q, head, queries.first),
                                                 products.rows(operands.k, key_head, keys.first),
                                                 queries,
                                                 keys);
    std::vector<float> sums(extent(queries.count()));
    std::vector<float> maxima(sums.size());
    products.for_rows(queries, keys, scores, [&](std::int64_t query, std::span<float> visible) {
        const std::size_t i = extent(query - queries.first);
        maxima[i] = maximum(visible);
        sums[i] = exponentials(visible, maxima[i]);
        if (operands.dropout.rate > 0) {
            multiply(visible, products.dropout_factors(operands.dropout, head, query));
        }
    });
    const HeadRows v = products.rows(operands.v, key_head, keys.first);
    std::vector<float> output(extent(queries.count(), shape.head_dim));
    gemm({.m = queries.count(), .n = shape.head_dim, .k = keys.count(), .row_stride_b = v.stride},
         view_of(scores),
         v.tensor,
         view_of(output));
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::span<float> row =
            std::span{output}.subspan(i * extent(shape.head_dim), extent(shape.head_dim));
        for (float& value : row) {
            value = sums[i] > 0 ? value / sums[i] : 0.0f;
        }
        const double logarithm = std::log(static_cast<double>(sums[i]));
        const std::int64_t query = queries.first + static_cast<std::int64_t>(i);
        write_row(operands,
                  products.output_element(head, query),
                  products.statistics_element(head, query),
                  row,
                  sums[i] > 0 ? maxima[i] + static_cast<float>(logarithm) : maxima[i]);
    }
}

// dK and dV of one key-value head, [seq_kv, head_dim] each.
struct KeyValueGradient {
    std::vector<float> key;
    std::vector<float> value;
};

class BackwardBlock {
public:
    BackwardBlock(const AttentionShape& shape,
                  const AttentionBackward& operands,
                  HeadProducts& products)
        : shape_(shape),
          operands_(operands),
          products_(products),
          dscores_(extent(std::min(kQueryBlock, shape.seq_q), shape.seq_kv)) {}

    void run(Head head, RowRange queries, KeyValueGradient& sums) {
        const Head key_head{head.batch, products_.key_head(head.index)};
        const RowRange keys = products_.block_keys(queries);
        const HeadRows q = products_.rows(operands_.q, head, queries.first);
        const HeadRows k = products_.rows(operands_.k, key_head, keys.first);
        const HeadRows v = products_.rows(operands_.v, key_head, keys.first);
        const ConstTokenColumns all{operands_.doutput, query_columns(shape_), 0};
        const HeadRows dout = products_.rows(all, head, queries.first);
        std::vector<float>& p = products_.scores(q, k, queries, keys);
        products_.for_rows(queries, keys, p, [&](std::int64_t query, std::span<float> visible) {
            exponentials(visible,
                         load(operands_.log_sum_exp, products_.statistics_element(head, query)));
        });
        products_.product(dout, v, queries, keys, 1.0f, dscores_);
        if (operands_.dropout.rate > 0) {
            std::vector<float> dropped = p;
            drop(head, queries, keys, dropped);
            drop(head, queries, keys, dscores_);
            add_transposed_product(dropped, dout, queries, keys, sums.value);
        } else {
            add_transposed_product(p, dout, queries, keys, sums.value);
        }
        score_gradient(head, queries, keys, p);
        add_transposed_product(dscores_, q, queries, keys, sums.key);
        const std::int64_t first =
            products_.element(operands_.dq.width, operands_.dq.first_column, head, queries.first);
        gemm({.m = queries.count(),
              .n = shape_.head_dim,
              .k = keys.count(),
              .row_stride_b = k.stride,
              .row_stride_c = shape_.batch * operands_.dq.width},
             view_of(dscores_),
             k.tensor,
             from_element(operands_.dq.tensor, first),
             {.accumulate = operands_.accumulate_dq});
    }

private:
    void drop(Head head, RowRange queries, RowRange keys, std::vector<float>& block) const {
        products_.for_rows(queries, keys, block, [&](std::int64_t query, std::span<float> visible) {
            multiply(visible, products_.dropout_factors(operands_.dropout, head, query));
        });
    }
    // On entry dscores holds dP. dscores = p (dP - delta) scale.
    void score_gradient(Head head, RowRange queries, RowRange keys, const std::vector<float>& p) {
        std::vector<float> output(extent(shape_.head_dim));
        std::vector<float> doutput(output.size());
        for (std::int64_t query = queries.first; query < queries.end; ++query) {
            load_row(operands_.output, products_.output_element(head, query), output);
            load_row(operands_.doutput, products_.output_element(head, query), doutput);
            const float delta = dot(output, doutput);
            const std::size_t first = extent(query - queries.first, keys.count());
            for (std::size_t j = first; j < first + extent(keys.count()); ++j) {
                dscores_[j] = p[j] * (dscores_[j] - delta) * products_.scale();
            }
        }
    }
    // sum[keys] += x[queries, keys]^T y[queries, head_dim].
    void add_transposed_product(const std::vector<float>& x,
                                const HeadRows& y,
                                RowRange queries,
                                RowRange keys,
                                std::vector<float>& sum) const {
        gemm({.m = keys.count(),
              .n = shape_.head_dim,
              .k = queries.count(),
              .transpose_a = true,
              .row_stride_b = y.stride},
             const_view_of(x),
             y.tensor,
             from_element(view_of(sum), keys.first * shape_.head_dim),
             {.accumulate = true});
    }

    const AttentionShape& shape_;
    const AttentionBackward& operands_;
    HeadProducts& products_;
    std::vector<float> dscores_;
};

void write_key_gradient(const AttentionShape& shape,
                        const HeadProducts& products,
                        Head key_head,
                        bool accumulate,
                        std::span<float> gradient,
                        const TokenColumns& out) {
    std::vector<float> before(extent(shape.head_dim), 0.0f);
    for (std::int64_t key = 0; key < shape.seq_kv; ++key) {
        const std::int64_t first = products.element(out.width, out.first_column, key_head, key);
        const std::span<float> row =
            gradient.subspan(extent(key, shape.head_dim), extent(shape.head_dim));
        if (accumulate) {
            load_row(out.tensor, first, before);
        }
        add_to(row, before);
        store_row(out.tensor, first, row);
    }
}

void check(const AttentionShape& shape, const AttentionPositions& positions) {
    ORRERY_CHECK(shape.heads > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
    ORRERY_CHECK(positions.query.length == shape.seq_q);
    ORRERY_CHECK(positions.key.length == shape.seq_kv);
}

}  // namespace

AttentionPositions whole_sequence(const AttentionShape& shape) {
    const std::int64_t shift = shape.seq_kv - shape.seq_q;
    return {contiguous_positions(shape.seq_q, shift), contiguous_positions(shape.seq_kv)};
}

void attention_forward(const AttentionShape& shape,
                       const AttentionPositions& positions,
                       const AttentionForward& operands) {
    check(shape, positions);
    HeadProducts products{shape, positions};
    for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
        for (std::int64_t head = 0; head < shape.heads; ++head) {
            for (std::int64_t i = 0; i < shape.seq_q; i += kQueryBlock) {
                const RowRange queries{i, std::min(i + kQueryBlock, shape.seq_q)};
                forward_block(shape, operands, products, {batch, head}, queries);
            }
        }
    }
}

void attention_backward(const AttentionShape& shape,
                        const AttentionPositions& positions,
                        const AttentionBackward& operands) {
    check(shape, positions);
    HeadProducts products{shape, positions};
    BackwardBlock block{shape, operands, products};
    const std::int64_t group = shape.heads / shape.kv_heads;
    for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
        for (std::int64_t key_head = 0; key_head < shape.kv_heads; ++key_head) {
            KeyValueGradient sums;
            sums.key.assign(extent(shape.seq_kv, shape.head_dim), 0.0f);
            sums.value = sums.key;
            for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
                for (std::int64_t i = 0; i < shape.seq_q; i += kQueryBlock) {
                    const RowRange queries{i, std::min(i + kQueryBlock, shape.seq_q)};
                    block.run({batch, head}, queries, sums);
                }
            }
            const bool add = operands.accumulate_dkv;
            write_key_gradient(shape, products, {batch, key_head}, add, sums.key, operands.dk);
            write_key_gradient(shape, products, {batch, key_head}, add, sums.value, operands.dv);
        }
    }
}

}  // namespace orrery::cpu
