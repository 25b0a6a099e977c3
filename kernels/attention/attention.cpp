// SPDX-License-Identifier: Apache-2.0
// Work of flash attention; see attention.h.
#include "kernels/attention/attention.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

namespace {

constexpr std::int64_t kWindowUnit = kHeadDimMax + 1;
constexpr std::int64_t kWindowMax = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kValueDimUnit = kWindowUnit * (kWindowMax + 1);
constexpr std::int64_t kStatisticsSize = 4;  // log-sum-exp and row sums are fp32

KernelCall attention(const AttentionShape& shape, Dtype dtype) {
    ORRERY_CHECK(shape.head_dim > 0 && shape.head_dim < kWindowUnit);
    ORRERY_CHECK(shape.window <= kWindowMax && shape.value_dim < kWindowUnit);
    ORRERY_CHECK(shape.heads > 0 && shape.kv_heads > 0 && shape.batch > 0);
    const double pairs =
        static_cast<double>(visible_pairs(shape)) * static_cast<double>(shape.heads * shape.batch);
    return {.kind = KernelKind::attention_forward,
            .dtype = dtype,
            .variant = static_cast<std::uint8_t>(static_cast<int>(shape.generation) +
                                                 (shape.causal ? 8 : 0)),
            .dims = {shape.batch,
                     shape.seq_q,
                     shape.seq_kv,
                     shape.heads,
                     shape.kv_heads,
                     shape.head_dim + kWindowUnit * shape.window + kValueDimUnit * shape.value_dim},
            .flop = 2.0 * static_cast<double>(shape.head_dim + shape.value_head_dim()) * pairs};
}

}  // namespace

AttentionShape attention_shape(const KernelCall& call) {
    return {.batch = call.dims[0],
            .seq_q = call.dims[1],
            .seq_kv = call.dims[2],
            .heads = call.dims[3],
            .kv_heads = call.dims[4],
            .head_dim = call.dims[5] % kWindowUnit,
            .causal = call.variant >= 8,
            .window = call.dims[5] / kWindowUnit % (kWindowMax + 1),
            .generation = static_cast<AttentionGeneration>(call.variant % 8),
            .value_dim = call.dims[5] / kValueDimUnit};
}

std::int64_t visible_pairs(const AttentionShape& shape) {
    if (!shape.causal) {
        return shape.seq_q * shape.seq_kv;
    }
    // Query i sees the last min(seq_kv - seq_q + i + 1, window) keys, at least none.
    const std::int64_t limit =
        shape.window > 0 ? std::min(shape.window, shape.seq_kv) : shape.seq_kv;
    const std::int64_t first = std::max<std::int64_t>(shape.seq_kv - shape.seq_q + 1, 1);
    const std::int64_t last = shape.seq_kv;
    if (first >= limit) {
        return (last - first + 1) * limit;
    }
    const std::int64_t growing = (limit - first + 1) * (first + limit) / 2;
    return growing + (last - limit) * limit;
}

KernelCall attention_forward(const AttentionShape& shape, Dtype dtype) {
    KernelCall call = attention(shape, dtype);
    const std::int64_t rows = shape.batch * shape.heads * shape.seq_q;
    const std::int64_t kv = shape.batch * shape.kv_heads * shape.seq_kv;
    const std::int64_t both = shape.head_dim + shape.value_head_dim();
    call.bytes = (rows + kv) * both * size_bytes(dtype) + rows * kStatisticsSize;
    return call;
}

KernelCall attention_backward(const AttentionShape& shape, Dtype dtype) {
    KernelCall call = attention(shape, dtype);
    call.kind = KernelKind::attention_backward;
    // Scores, dQ and dK have the head size of queries, dP and dV that of values.
    const auto head = static_cast<double>(shape.head_dim);
    const auto value = static_cast<double>(shape.value_head_dim());
    call.flop *= shape.value_dim == 0 ? 2.5 : (3 * head + 2 * value) / (head + value);
    const std::int64_t rows = shape.batch * shape.heads * shape.seq_q;
    const std::int64_t kv = shape.batch * shape.kv_heads * shape.seq_kv;
    const std::int64_t both = shape.head_dim + shape.value_head_dim();
    // Q, O, dO read, dQ written; K, V read, dK, dV written; log-sum-exp and rowsum(dO * O).
    call.bytes = 2 * (rows + kv) * both * size_bytes(dtype) + 2 * rows * kStatisticsSize;
    return call;
}

}  // namespace orrery
