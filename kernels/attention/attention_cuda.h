// SPDX-License-Identifier: Apache-2.0
// Attention on a GPU: the functions of kernels/attention/attention_cpu.h with the same operands.
// bf16 with head sizes 64 and 128 runs on the queue's kind of tensor cores. All other cases (fp32;
// head sizes up to 256; columns that are not 16-byte aligned) run row by row. The tensors of a call
// have one type. If `scalars` are given, the kernels read the seed, the first round and the rate of
// operands.dropout from these device scalars; its key then has neither seed nor round.
#pragma once

#include <string>

#include "kernels/attention/attention_cpu.h"

namespace orrery::device {

inline constexpr std::int64_t kAttentionHeadMax = 256;

// The reason why a shape cannot run, or empty.
inline std::string why_no_attention(const AttentionShape& shape, Dtype dtype) {
    constexpr std::int64_t kTokensMax = std::int64_t{1} << 30;
    if (dtype != Dtype::bf16 && dtype != Dtype::fp32) {
        return "attention takes bf16 and fp32";
    }
    if (shape.head_dim > kAttentionHeadMax) {
        return "attention takes head sizes up to 256";
    }
    const bool large = shape.heads * shape.batch > 0xFFFF;
    return large || shape.seq_q > kTokensMax || shape.seq_kv > kTokensMax
               ? "attention takes up to 65535 heads of all sequences and 2^30 tokens"
               : "";
}

// Whether tensor-core kernels exist for a call; its columns must also be aligned.
inline bool has_tensor_core_attention(const KernelCall& call) {
    const std::int64_t head_dim = attention_shape(call).head_dim;
    return call.dtype == Dtype::bf16 && (head_dim == 64 || head_dim == 128);
}

// Whether warpgroup kernels with two sizes of tiles exist for a call: forward, heads of 64.
inline constexpr int kShortTileHead = 64;
inline bool has_short_tile_attention(const KernelCall& call) {
    return call.kind == KernelKind::attention_forward && has_tensor_core_attention(call) &&
           attention_shape(call).head_dim == kShortTileHead;
}

template <class Queue>
void attention_forward(Queue& queue,
                       const AttentionShape& shape,
                       const cpu::AttentionPositions& positions,
                       const cpu::AttentionForward& operands,
                       const float* scalars = nullptr);

template <class Queue>
void attention_backward(Queue& queue,
                        const AttentionShape& shape,
                        const cpu::AttentionPositions& positions,
                        const cpu::AttentionBackward& operands,
                        const float* scalars = nullptr);

// Operations on keys and values outside attention (kernels/attention/token_columns.h). `packed` has
// them in its last `width` columns: block = columns, columns += block, columns = 0.
template <class Queue>
void copy_key_value(Queue& queue, std::int64_t width, ConstTensorView packed, TensorView block);
template <class Queue>
void add_key_value(Queue& queue, std::int64_t width, ConstTensorView block, TensorView packed);
template <class Queue>
void join_key_value(Queue& queue,
                    std::int64_t tokens,
                    ConstTensorView queries,
                    ConstTensorView block,
                    TensorView packed);
template <class Queue>
void clear_key_value(Queue& queue, std::int64_t tokens, std::int64_t width, TensorView packed);

}  // namespace orrery::device
