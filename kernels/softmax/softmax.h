// SPDX-License-Identifier: Apache-2.0
// The middle of unfused attention: scale, mask and softmax of the stored scores, in one kernel
// (Megatron-LM's masked_softmax_fusion) or in one kernel per step, with optional dropout of the
// probabilities. Masked scores are not skipped.
//   dims = {batch, heads, seq_q, seq_kv, head_dim, window}; the last two define scale and mask, and
//   may be 0 if unknown, because they do not affect the cost; dtype = of the scores; variant =
//   causal
//   + 2 * dropout + 4 * unfused_steps.
#pragma once

#include "kernels/memory_bound.h"

namespace orrery {

struct SoftmaxShape {
    std::int64_t batch = 1;
    std::int64_t heads = 0;  // on this device
    std::int64_t seq_q = 0;
    std::int64_t seq_kv = 0;
    bool causal = true;
    bool dropout = false;
    std::int64_t head_dim = 0;   // scores are scaled by 1 / sqrt(head_dim)
    std::int64_t window = 0;     // as in kernels/attention/attention.h
    bool unfused_steps = false;  // scale, mask (if causal) and softmax as separate kernels
    bool operator==(const SoftmaxShape&) const = default;
};

inline SoftmaxShape softmax_shape(const KernelCall& call) {
    return {.batch = call.dims[0],
            .heads = call.dims[1],
            .seq_q = call.dims[2],
            .seq_kv = call.dims[3],
            .causal = (call.variant & 1) != 0,
            .dropout = (call.variant & 2) != 0,
            .head_dim = call.dims[4],
            .window = call.dims[5],
            .unfused_steps = (call.variant & 4) != 0};
}

inline std::int64_t unfused_step_bytes(const SoftmaxShape& shape, std::int64_t size) {
    return shape.unfused_steps ? 2 * size * (shape.causal ? 2 : 1) : 0;
}

inline KernelCall softmax_call(KernelKind kind,
                               const SoftmaxShape& shape,
                               Dtype dtype,
                               std::int64_t bytes_per_score,
                               double flop_per_score) {
    const std::int64_t rows = shape.batch * shape.heads * shape.seq_q;
    return memory_bound_call(
        kind,
        dtype,
        (shape.causal ? 1 : 0) + (shape.dropout ? 2 : 0) + (shape.unfused_steps ? 4 : 0),
        {shape.batch, shape.heads, shape.seq_q, shape.seq_kv, shape.head_dim, shape.window},
        flop_per_score * element_count(rows, shape.seq_kv),
        rows * shape.seq_kv * bytes_per_score);
}

// Scores are read and probabilities written. Dropout reads them again, and writes its mask (one
// byte) and its result. Separate kernels read and write once more for the scale and once more for
// the mask.
inline KernelCall softmax_forward(const SoftmaxShape& shape, Dtype dtype) {
    const std::int64_t size = size_bytes(dtype);
    return softmax_call(
        KernelKind::softmax_forward,
        shape,
        dtype,
        2 * size + (shape.dropout ? 2 * size + 1 : 0) + unfused_step_bytes(shape, size),
        6.0);
}

// Gradient and probabilities are read, and the gradient is written. The backward pass of dropout
// precedes it.
inline KernelCall softmax_backward(const SoftmaxShape& shape, Dtype dtype) {
    const std::int64_t size = size_bytes(dtype);
    return softmax_call(
        KernelKind::softmax_backward,
        shape,
        dtype,
        3 * size + (shape.dropout ? 2 * size + 1 : 0) + unfused_step_bytes(shape, size),
        5.0);
}

}  // namespace orrery
