// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/head_products.h"

namespace orrery {
namespace {

std::int64_t group(const AttentionShape& shape) {
    return shape.heads / shape.kv_heads;
}

HeadSteps score_steps(const AttentionShape& s) {
    return {.row = s.batch * s.heads * s.seq_kv,
            .sequence = s.heads * s.seq_kv,
            .member = s.seq_kv,
            .kv_head = group(s) * s.seq_kv};
}

HeadSteps query_steps(const AttentionShape& s, const cpu::ConstTokenColumns& x) {
    return {.first = x.first_column,
            .row = s.batch * x.width,
            .sequence = x.width,
            .member = s.head_dim,
            .kv_head = group(s) * s.head_dim};
}

HeadSteps key_steps(const AttentionShape& s, const cpu::ConstTokenColumns& x) {
    return {.first = x.first_column,
            .row = s.batch * x.width,
            .sequence = x.width,
            .member = 0,
            .kv_head = s.head_dim};
}

// [seq_q, batch, heads, head_dim] as columns.
cpu::ConstTokenColumns context_columns(const AttentionShape& shape, ConstTensorView context) {
    return {context, shape.heads * shape.head_dim, 0};
}

// result[queries, keys] = x[queries] y[keys]^T
HeadProduct score_product(const AttentionShape& s,
                          const cpu::ConstTokenColumns& x,
                          const cpu::ConstTokenColumns& y,
                          TensorView result) {
    return {.shape = s,
            .m = s.seq_q,
            .n = s.seq_kv,
            .k = s.head_dim,
            .transpose_y = true,
            .x = x.tensor,
            .y = y.tensor,
            .result = result,
            .steps_x = query_steps(s, x),
            .steps_y = key_steps(s, y),
            .steps_result = score_steps(s)};
}

// result[queries] = scores[queries, keys] y[keys]
HeadProduct query_product(const AttentionShape& s,
                          ConstTensorView scores,
                          const cpu::ConstTokenColumns& y,
                          const cpu::TokenColumns& result) {
    return {.shape = s,
            .m = s.seq_q,
            .n = s.head_dim,
            .k = s.seq_kv,
            .x = scores,
            .y = y.tensor,
            .result = result.tensor,
            .steps_x = score_steps(s),
            .steps_y = key_steps(s, y),
            .steps_result = query_steps(s, result)};
}

// result[keys] = sum over the group's heads of scores[queries, keys]^T x[queries]
HeadProduct key_product(const AttentionShape& s,
                        ConstTensorView scores,
                        const cpu::ConstTokenColumns& x,
                        const cpu::TokenColumns& result) {
    return {.shape = s,
            .m = s.seq_kv,
            .n = s.head_dim,
            .k = s.seq_q,
            .transpose_x = true,
            .x = scores,
            .y = x.tensor,
            .result = result.tensor,
            .steps_x = score_steps(s),
            .steps_y = query_steps(s, x),
            .steps_result = key_steps(s, result)};
}

}  // namespace

HeadProduct attention_scores(const AttentionShape& shape,
                             cpu::ConstTokenColumns q,
                             cpu::ConstTokenColumns k,
                             TensorView scores) {
    return score_product(shape, q, k, scores);
}

HeadProduct attention_context(const AttentionShape& shape,
                              ConstTensorView probabilities,
                              cpu::ConstTokenColumns v,
                              TensorView context) {
    return query_product(shape, probabilities, v, {context, shape.heads * shape.head_dim, 0});
}

HeadProduct attention_value_gradient(const AttentionShape& shape,
                                     ConstTensorView probabilities,
                                     ConstTensorView dcontext,
                                     cpu::TokenColumns dv) {
    return key_product(shape, probabilities, context_columns(shape, dcontext), dv);
}

HeadProduct attention_probability_gradient(const AttentionShape& shape,
                                           ConstTensorView dcontext,
                                           cpu::ConstTokenColumns v,
                                           TensorView dprobabilities) {
    return score_product(shape, context_columns(shape, dcontext), v, dprobabilities);
}

HeadProduct attention_query_gradient(const AttentionShape& shape,
                                     ConstTensorView dscores,
                                     cpu::ConstTokenColumns k,
                                     cpu::TokenColumns dq) {
    return query_product(shape, dscores, k, dq);
}

HeadProduct attention_key_gradient(const AttentionShape& shape,
                                   ConstTensorView dscores,
                                   cpu::ConstTokenColumns q,
                                   cpu::TokenColumns dk) {
    return key_product(shape, dscores, q, dk);
}

std::vector<HeadBatch> head_batches(const HeadProduct& p) {
    const std::int64_t members = group(p.shape);
    // Sums over a group run head by head. Otherwise the longer of the two dimensions is the batch.
    const bool sums = p.steps_result.member == 0;
    const bool by_member = !sums && members > p.shape.kv_heads;
    const auto from = [&](auto view, const HeadSteps& s, std::int64_t sequence, std::int64_t i) {
        const std::int64_t at =
            s.first + sequence * s.sequence + i * (by_member ? s.kv_head : s.member);
        return slice(view, at, view.size - at);
    };
    const auto step = [&](const HeadSteps& s) { return by_member ? s.member : s.kv_head; };
    std::vector<HeadBatch> batches;
    for (std::int64_t sequence = 0; sequence < p.shape.batch; ++sequence) {
        for (std::int64_t i = 0; i < (by_member ? p.shape.kv_heads : members); ++i) {
            batches.push_back({.count = by_member ? members : p.shape.kv_heads,
                               .x = from(p.x, p.steps_x, sequence, i),
                               .y = from(p.y, p.steps_y, sequence, i),
                               .result = from(p.result, p.steps_result, sequence, i),
                               .step_x = step(p.steps_x),
                               .step_y = step(p.steps_y),
                               .step_result = step(p.steps_result),
                               .accumulate = sums && i > 0});
        }
    }
    return batches;
}

}  // namespace orrery
