// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/unfused_attention_cpu.h"

#include "kernels/gemm/gemm_cpu.h"

namespace orrery::cpu {
namespace {

template <class View>
View from_element(View tensor, std::int64_t first) {
    return slice(tensor, first, tensor.size - first);
}

// One head of one sequence in each of the three tensors.
class HeadOperands {
public:
    HeadOperands(const AttentionShape& shape, std::int64_t batch, std::int64_t head)
        : shape_(shape), batch_(batch), head_(head) {}

    template <class Columns>
    auto query(Columns x) const {
        return columns(x, head_);
    }
    template <class Columns>
    auto key(Columns x) const {
        return columns(x, head_ / group());
    }
    template <class View>
    View scores(View x) const {
        return from_element(x, (batch_ * shape_.heads + head_) * shape_.seq_kv);
    }
    std::int64_t score_stride() const { return shape_.batch * shape_.heads * shape_.seq_kv; }
    std::int64_t stride(const ConstTokenColumns& x) const { return shape_.batch * x.width; }
    // Whether it is the first query head that reads its key-value head.
    bool is_first_of_group() const { return head_ % group() == 0; }

private:
    std::int64_t group() const { return shape_.heads / shape_.kv_heads; }
    template <class Columns>
    auto columns(Columns x, std::int64_t head) const {
        return from_element(x.tensor, batch_ * x.width + x.first_column + head * shape_.head_dim);
    }

    const AttentionShape& shape_;
    std::int64_t batch_;
    std::int64_t head_;
};

template <class Work>
void for_heads(const AttentionShape& shape, const Work& work) {
    for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
        for (std::int64_t head = 0; head < shape.heads; ++head) {
            work(HeadOperands{shape, batch, head});
        }
    }
}

// [seq_q, batch, heads, head_dim] as columns.
ConstTokenColumns context_columns(const AttentionShape& shape, ConstTensorView context) {
    return {context, shape.heads * shape.head_dim, 0};
}

// result[queries, keys] = x[queries] y[keys]^T
void score_product(const AttentionShape& shape,
                   ConstTokenColumns x,
                   ConstTokenColumns y,
                   TensorView result) {
    for_heads(shape, [&](const HeadOperands& head) {
        gemm({.m = shape.seq_q,
              .n = shape.seq_kv,
              .k = shape.head_dim,
              .transpose_b = true,
              .row_stride_a = head.stride(x),
              .row_stride_b = head.stride(y),
              .row_stride_c = head.score_stride()},
             head.query(x),
             head.key(y),
             head.scores(result));
    });
}

// result[queries] = scores[queries, keys] y[keys]
void query_product(const AttentionShape& shape,
                   ConstTensorView scores,
                   ConstTokenColumns y,
                   TokenColumns result) {
    for_heads(shape, [&](const HeadOperands& head) {
        gemm({.m = shape.seq_q,
              .n = shape.head_dim,
              .k = shape.seq_kv,
              .row_stride_a = head.score_stride(),
              .row_stride_b = head.stride(y),
              .row_stride_c = head.stride(result)},
             head.scores(scores),
             head.key(y),
             head.query(result));
    });
}

// result[keys] = sum over the group's heads of scores[queries, keys]^T x[queries]
void key_product(const AttentionShape& shape,
                 ConstTensorView scores,
                 ConstTokenColumns x,
                 TokenColumns result) {
    for_heads(shape, [&](const HeadOperands& head) {
        gemm({.m = shape.seq_kv,
              .n = shape.head_dim,
              .k = shape.seq_q,
              .transpose_a = true,
              .row_stride_a = head.score_stride(),
              .row_stride_b = head.stride(x),
              .row_stride_c = head.stride(result)},
             head.scores(scores),
             head.query(x),
             head.key(result),
             {.accumulate = !head.is_first_of_group()});
    });
}

}  // namespace

void attention_scores(const AttentionShape& shape,
                      ConstTokenColumns q,
                      ConstTokenColumns k,
                      TensorView scores) {
    score_product(shape, q, k, scores);
}

void attention_context(const AttentionShape& shape,
                       ConstTensorView probabilities,
                       ConstTokenColumns v,
                       TensorView context) {
    query_product(shape, probabilities, v, {context, shape.heads * shape.head_dim, 0});
}

void attention_value_gradient(const AttentionShape& shape,
                              ConstTensorView probabilities,
                              ConstTensorView dcontext,
                              TokenColumns dv) {
    key_product(shape, probabilities, context_columns(shape, dcontext), dv);
}

void attention_probability_gradient(const AttentionShape& shape,
                                    ConstTensorView dcontext,
                                    ConstTokenColumns v,
                                    TensorView dprobabilities) {
    score_product(shape, context_columns(shape, dcontext), v, dprobabilities);
}

void attention_query_gradient(const AttentionShape& shape,
                              ConstTensorView dscores,
                              ConstTokenColumns k,
                              TokenColumns dq) {
    query_product(shape, dscores, k, dq);
}

void attention_key_gradient(const AttentionShape& shape,
                            ConstTensorView dscores,
                            ConstTokenColumns q,
                            TokenColumns dk) {
    key_product(shape, dscores, q, dk);
}

}  // namespace orrery::cpu
