// SPDX-License-Identifier: Apache-2.0
// Queries, keys and values of a whole sequence in packed tensors of their own (seq_q and seq_kv
// differ in drawn shapes), and everything that attention makes of them.
#pragma once

#include "kernels/attention/attention_cpu.h"
#include "tests/kernels/numeric.h"

namespace orrery {

struct AttentionTensors {
    AttentionShape shape;
    numeric::Tensor q, kv, dout;  // kv: a block [seq_kv, batch, 2 kv_heads, head_dim]
    numeric::Tensor out, lse, dq, dkv;

    AttentionTensors(numeric::Draw& draw, const AttentionShape& s, Dtype dtype)
        : shape(s),
          q(draw.tensor(query_size(), dtype, -2, 2)),
          kv(draw.tensor(block_size(), dtype, -2, 2)),
          dout(draw.tensor(query_size(), dtype)),
          out(query_size(), dtype),
          lse(s.seq_q * s.batch * s.heads, Dtype::fp32),
          dq(query_size(), dtype),
          dkv(block_size(), dtype) {}
    std::int64_t query_size() const {
        return shape.seq_q * shape.batch * shape.heads * shape.head_dim;
    }
    std::int64_t block_size() const {
        return 2 * shape.seq_kv * shape.batch * shape.kv_heads * shape.head_dim;
    }
};

}  // namespace orrery
