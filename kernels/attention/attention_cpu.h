// SPDX-License-Identifier: Apache-2.0
// Attention on the CPU: O = softmax(mask(Q K^T / sqrt(head_dim))) V by blocks of queries, with the
// log-sum-exp of every row for the backward pass. Scores exist for one block of one head at a time.
// Rows of Q, K, V, O are tokens (sequence, batch), sequence-major. A head has head_dim columns, and
// query head h reads key-value head h / (heads / kv_heads). Each tensor is fp32 or bf16; scores,
// probabilities and sums are fp32. Every sum has one order: no result depends on timing.
//
// The mask uses global positions: a causal query at position p sees the keys at positions p -
// window + 1 ... p (window 0: all up to p). One function therefore serves whole sequences and, with
// the positions of another rank's keys, every step of a context-parallel ring, whether all, half or
// none of the pairs are visible:
//   step 0:     attention_forward(own keys, merge = false)
//   step i > 0: attention_forward(keys of the rank i before, merge = true)
// The result is the O and log-sum-exp of the whole sequence (Ring Attention, arXiv 2310.01889); a
// bf16 O is rounded at every merge. Backward, each step reads the final O and log-sum-exp, and
// computes the dK and dV of its block and a share of dQ. `shape` is the descriptor's, but seq_q and
// seq_kv count all present tokens (a ring's descriptor counts only half of the keys after the first
// step), and it is causal if the model is.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/token_columns.h"
#include "kernels/random.h"
#include "kernels/sequence_positions.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct AttentionPositions {
    SequencePositions query;  // .length = seq_q
    SequencePositions key;    // .length = seq_kv
};

// Positions of a whole sequence on one rank, aligned at the end as in the descriptor.
AttentionPositions whole_sequence(const AttentionShape& shape);

// Dropout of the probabilities after the softmax; kept ones are divided by 1 - rate. The random
// word of a probability depends on its place in the whole tensor [sequence, batch, all_heads,
// sequence], as for a stored mask: neither sharding nor the kernel changes it.
struct AttentionDropout {
    RandomKey key;
    float rate = 0.0f;
    std::int64_t first_head = 0;  // first head of this rank
    std::int64_t all_heads = 0;
    std::int64_t sequence = 0;
};

struct AttentionForward {
    ConstTokenColumns q;
    ConstTokenColumns k;
    ConstTokenColumns v;
    TensorView output;       // [seq_q, batch, heads, head_dim]
    TensorView log_sum_exp;  // fp32 [seq_q, batch, heads]; -infinity where no key is visible
    bool merge = false;      // merge with output and log_sum_exp of earlier blocks
    AttentionDropout dropout{};
};
void attention_forward(const AttentionShape& shape,
                       const AttentionPositions& positions,
                       const AttentionForward& operands);

// The scores are recomputed. Sums over queries (dK, dV) are fp32, with blocks of queries ascending
// and the query heads of a group in order.
struct AttentionBackward {
    ConstTokenColumns q;
    ConstTokenColumns k;
    ConstTokenColumns v;
    ConstTensorView output;       // of all blocks
    ConstTensorView log_sum_exp;  // of all blocks
    ConstTensorView doutput;      // [seq_q, batch, heads, head_dim]
    TokenColumns dq;
    TokenColumns dk;
    TokenColumns dv;
    bool accumulate_dq = false;  // add to dq instead of writing it
    bool accumulate_dkv = false;
    AttentionDropout dropout{};
};
void attention_backward(const AttentionShape& shape,
                        const AttentionPositions& positions,
                        const AttentionBackward& operands);

}  // namespace orrery::cpu
