// SPDX-License-Identifier: Apache-2.0
// Fused (flash) attention. It never stores the scores, and skips blocks that the mask hides. FLOP =
// 2 (head_dim + value_dim) (visible query-key pairs) heads batch forward. The backward pass
// recomputes the scores: five products instead of two, 2.5 times the forward (Dao, arXiv
// 2307.08691, 4.1). Unfused attention is batched gemm() + softmax (kernels/softmax/softmax.h).
//   dims = {batch, seq_q, seq_kv, heads, kv_heads, head_dim + 2^16 * window + 2^47 * value_dim},
//   value_dim 0 if it is head_dim; dtype = of Q, K, V; variant = generation + 8 * causal.
#pragma once

#include "engine/program/kernel_call.h"

namespace orrery {

enum class AttentionGeneration : std::uint8_t { flash_1, flash_2, flash_3_or_cudnn };

inline constexpr std::int64_t kHeadDimMax = 65'535;  // a KernelCall has 16 bits for it

struct AttentionShape {
    std::int64_t batch = 1;
    std::int64_t seq_q = 0;  // tokens of one sequence on this device
    std::int64_t seq_kv = 0;
    std::int64_t heads = 0;  // query heads on this device
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;
    bool causal = true;  // the last query sees the last key (aligned at the end)
    // causal: the most keys visible to a query, including its own; 0: no limit
    std::int64_t window = 0;
    AttentionGeneration generation = AttentionGeneration::flash_2;
    std::int64_t value_dim = 0;  // head size of V and of the output; 0: head_dim
    std::int64_t value_head_dim() const { return value_dim > 0 ? value_dim : head_dim; }
    bool operator==(const AttentionShape&) const = default;
};

AttentionShape attention_shape(const KernelCall& call);

// Visible query-key pairs of one head of one sequence.
std::int64_t visible_pairs(const AttentionShape& shape);

KernelCall attention_forward(const AttentionShape& shape, Dtype dtype);
KernelCall attention_backward(const AttentionShape& shape, Dtype dtype);

}  // namespace orrery
