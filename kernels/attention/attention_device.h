// SPDX-License-Identifier: Apache-2.0
// Host functions of kernels/attention/attention_cuda.h: they choose the kernels and their
// arguments.
#pragma once

#include <cmath>

#include "kernels/attention/attention_backward_device.h"
#include "kernels/attention/attention_cuda.h"
#include "kernels/attention/attention_rows_device.h"
#include "kernels/cuda/flat.h"

namespace orrery::device {

template <class T>
HeadTensor<const T> head_tensor(const AttentionShape& shape, const cpu::ConstTokenColumns& x) {
    return {elements<T>(x.tensor) + x.first_column, x.width, shape.batch};
}
template <class T>
HeadTensor<T> head_tensor(const AttentionShape& shape, const cpu::TokenColumns& x) {
    return {elements<T>(x.tensor) + x.first_column, x.width, shape.batch};
}
// [seq_q, batch, heads, head_dim]
inline cpu::ConstTokenColumns query_rows(const AttentionShape& shape, ConstTensorView x) {
    return {x, shape.heads * shape.head_dim, 0};
}
inline cpu::TokenColumns query_rows(const AttentionShape& shape, TensorView x) {
    return {x, shape.heads * shape.head_dim, 0};
}

inline bool aligned_columns(const cpu::ConstTokenColumns& x) {
    return aligned(x.tensor) && x.width % 8 == 0 && x.first_column % 8 == 0;
}

inline AttentionMask attention_mask(const AttentionShape& shape,
                                    const cpu::AttentionPositions& positions) {
    ORRERY_CHECK(positions.query.length == shape.seq_q && positions.key.length == shape.seq_kv);
    return {.query = positions.query,
            .key = positions.key,
            .window = shape.window,
            .causal = shape.causal};
}
inline float attention_scale(const AttentionShape& shape) {
    return 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
}

inline ProbabilityDropout probability_dropout(const cpu::AttentionDropout& dropout,
                                              const float* scalars) {
    ProbabilityDropout result{.source = {dropout.key, scalars},
                              .first_head = dropout.first_head,
                              .all_heads = dropout.all_heads,
                              .sequence = dropout.sequence};
    result.source.rate = dropout.rate;
    return result;
}
inline bool drops(const ProbabilityDropout& dropout) {
    return dropout.source.rate > 0.0f || dropout.source.scalars != nullptr;
}

// Calls with_size<kDim, kDropout, Cores>() if tensor cores support the head size, else otherwise().
// kShort: kernels with short tiles exist.
template <bool kShort, class WithSize, class Otherwise>
void for_head_size(TensorCores tensor_cores,
                   std::int64_t head_dim,
                   bool dropout,
                   const WithSize& with_size,
                   const Otherwise& otherwise) {
    const auto on = [&]<int kDim, bool kDropout>() {
        if constexpr (kShort && kDim == kShortTileHead) {
            if (tensor_cores == TensorCores::short_warpgroups) {
                with_size.template operator()<kDim, kDropout, ShortWarpgroupCores>();
                return;
            }
        }
        if (tensor_cores >= TensorCores::warpgroups) {
            with_size.template operator()<kDim, kDropout, WarpgroupCores>();
        } else {
            with_size.template operator()<kDim, kDropout, WarpCores>();
        }
    };
    if (tensor_cores == TensorCores::none || (head_dim != 64 && head_dim != 128)) {
        otherwise();
    } else if (head_dim == 64 && dropout) {
        on.template operator()<64, true>();
    } else if (head_dim == 64) {
        on.template operator()<64, false>();
    } else if (dropout) {
        on.template operator()<128, true>();
    } else {
        on.template operator()<128, false>();
    }
}

template <class T>
AttentionRowsArguments<T> rows_arguments(const AttentionShape& shape,
                                         const AttentionMask& mask,
                                         const cpu::ConstTokenColumns& q,
                                         const cpu::ConstTokenColumns& k,
                                         const cpu::ConstTokenColumns& v,
                                         const ProbabilityDropout& dropout) {
    return {.mask = mask,
            .heads = shape.heads,
            .kv_heads = shape.kv_heads,
            .head_dim = shape.head_dim,
            .scale = attention_scale(shape),
            .q = head_tensor<T>(shape, q),
            .k = head_tensor<T>(shape, k),
            .v = head_tensor<T>(shape, v),
            .drops = drops(dropout),
            .dropout = dropout};
}

template <class Queue>
void attention_forward(Queue& queue,
                       const AttentionShape& shape,
                       const cpu::AttentionPositions& positions,
                       const cpu::AttentionForward& x,
                       const float* scalars) {
    const Dtype dtype = x.q.tensor.dtype;
    ORRERY_CHECK(why_no_attention(shape, dtype).empty());
    ORRERY_CHECK(x.k.tensor.dtype == dtype && x.v.tensor.dtype == dtype);
    ORRERY_CHECK(x.output.dtype == dtype && x.log_sum_exp.dtype == Dtype::fp32);
    const AttentionMask mask = attention_mask(shape, positions);
    const auto output = query_rows(shape, x.output);
    auto* log_sum_exp = elements<float>(x.log_sum_exp);
    const bool fits = dtype == Dtype::bf16 && aligned_columns(x.q) && aligned_columns(x.k) &&
                      aligned_columns(x.v) && aligned(x.output);
    const TensorCores tensor_cores = fits ? queue.tensor_cores() : TensorCores::none;
    const ProbabilityDropout dropout = probability_dropout(x.dropout, scalars);
    const auto on_tensor_cores = [&]<int kDim, bool kDropout, class Cores>() {
        const AttentionForwardKernel<kDim, kDropout, Cores> kernel{
            .mask = mask,
            .heads = shape.heads,
            .group = shape.heads / shape.kv_heads,
            .scale = attention_scale(shape),
            .q = head_tensor<Bf16>(shape, x.q),
            .k = head_tensor<Bf16>(shape, x.k),
            .v = head_tensor<Bf16>(shape, x.v),
            .output = head_tensor<Bf16>(shape, output),
            .log_sum_exp = log_sum_exp,
            .merge = x.merge,
            .dropout = dropout};
        queue.launch(kernel, kernel.geometry());
    };
    const auto by_rows = [&]<class T>(T*) {
        queue.launch(AttentionRowsForwardKernel<T>{.a = rows_arguments<T>(
                                                       shape, mask, x.q, x.k, x.v, dropout),
                                                   .output = head_tensor<T>(shape, output),
                                                   .log_sum_exp = log_sum_exp,
                                                   .merge = x.merge},
                     row_geometry(shape.seq_q, shape.heads * shape.batch));
    };
    for_head_size<true>(tensor_cores, shape.head_dim, drops(dropout), on_tensor_cores, [&] {
        for_dtype(dtype, by_rows);
    });
}

template <int kDim, bool kDropout, class Cores, class Queue>
void attention_backward_on_tensor_cores(Queue& queue,
                                        const AttentionShape& shape,
                                        const AttentionMask& mask,
                                        const ProbabilityDropout& dropout,
                                        const cpu::AttentionBackward& x) {
    const std::int64_t sequence_heads = shape.batch * shape.heads;
    auto* statistics = reinterpret_cast<QueryStatistic*>(
        queue.scratch(sequence_heads * statistics_pitch(shape.seq_q) *
                      static_cast<std::int64_t>(sizeof(QueryStatistic))));
    const AttentionStatisticsKernel<kDim> first{.output = elements<Bf16>(x.output),
                                                .doutput = elements<Bf16>(x.doutput),
                                                .log_sum_exp = elements<float>(x.log_sum_exp),
                                                .statistics = statistics,
                                                .queries = shape.seq_q,
                                                .sequence_heads = sequence_heads};
    queue.launch(first, first.geometry());
    const AttentionBackwardArguments arguments{
        .mask = mask,
        .heads = shape.heads,
        .kv_heads = shape.kv_heads,
        .scale = attention_scale(shape),
        .q = head_tensor<Bf16>(shape, x.q),
        .k = head_tensor<Bf16>(shape, x.k),
        .v = head_tensor<Bf16>(shape, x.v),
        .doutput = head_tensor<Bf16>(shape, query_rows(shape, x.doutput)),
        .statistics = statistics,
        .dq = head_tensor<Bf16>(shape, x.dq),
        .dk = head_tensor<Bf16>(shape, x.dk),
        .dv = head_tensor<Bf16>(shape, x.dv),
        .add_dq = x.accumulate_dq,
        .add_dkv = x.accumulate_dkv,
        .dropout = dropout};
    const AttentionKeyGradientKernel<kDim, kDropout, Cores> keys{arguments};
    queue.launch(keys, keys.geometry());
    const AttentionQueryGradientKernel<kDim, kDropout, Cores> queries{arguments};
    queue.launch(queries, queries.geometry());
}

template <class T, class Queue>
void attention_backward_by_rows(Queue& queue,
                                const AttentionShape& shape,
                                const AttentionMask& mask,
                                const ProbabilityDropout& dropout,
                                const cpu::AttentionBackward& x) {
    const AttentionRowsBackward<T> backward{
        .a = rows_arguments<T>(shape, mask, x.q, x.k, x.v, dropout),
        .output = head_tensor<T>(shape, query_rows(shape, x.output)),
        .doutput = head_tensor<T>(shape, query_rows(shape, x.doutput)),
        .log_sum_exp = elements<float>(x.log_sum_exp)};
    queue.launch(AttentionRowsKeyGradientKernel<T>{.b = backward,
                                                   .dk = head_tensor<T>(shape, x.dk),
                                                   .dv = head_tensor<T>(shape, x.dv),
                                                   .add = x.accumulate_dkv},
                 row_geometry(shape.seq_kv, shape.kv_heads * shape.batch));
    queue.launch(
        AttentionRowsQueryGradientKernel<T>{
            .b = backward, .dq = head_tensor<T>(shape, x.dq), .add = x.accumulate_dq},
        row_geometry(shape.seq_q, shape.heads * shape.batch));
}

template <class Queue>
void attention_backward(Queue& queue,
                        const AttentionShape& shape,
                        const cpu::AttentionPositions& positions,
                        const cpu::AttentionBackward& x,
                        const float* scalars) {
    const Dtype dtype = x.q.tensor.dtype;
    ORRERY_CHECK(why_no_attention(shape, dtype).empty());
    for (const Dtype other : {x.k.tensor.dtype,
                              x.v.tensor.dtype,
                              x.output.dtype,
                              x.doutput.dtype,
                              x.dq.tensor.dtype,
                              x.dk.tensor.dtype,
                              x.dv.tensor.dtype}) {
        ORRERY_CHECK(other == dtype);
    }
    bool fits = dtype == Dtype::bf16 && aligned(x.output) && aligned(x.doutput);
    for (const cpu::ConstTokenColumns& columns :
         std::initializer_list<cpu::ConstTokenColumns>{x.q, x.k, x.v, x.dq, x.dk, x.dv}) {
        fits = fits && aligned_columns(columns);
    }
    const AttentionMask mask = attention_mask(shape, positions);
    const ProbabilityDropout dropout = probability_dropout(x.dropout, scalars);
    for_head_size<false>(
        fits ? queue.tensor_cores() : TensorCores::none,
        shape.head_dim,
        drops(dropout),
        [&]<int kDim, bool kDropout, class Cores>() {
            attention_backward_on_tensor_cores<kDim, kDropout, Cores>(
                queue, shape, mask, dropout, x);
        },
        [&] {
            for_dtype(dtype, [&]<class T>(T*) {
                attention_backward_by_rows<T>(queue, shape, mask, dropout, x);
            });
        });
}

}  // namespace orrery::device
