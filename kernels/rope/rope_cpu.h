// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding on the CPU (Su et al., arXiv 2104.09864), in place on the query and key
// heads of a packed tensor qkv [tokens, (heads + 2 kv_heads) head_dim], tokens = (sequence, batch)
// sequence-major, columns = query heads, key heads, value heads. Values are not changed. Element i
// of the first half of a head rotates with element i of the second half (GPT-NeoX's and Llama's
// pairing) by position * base^(-2 i / head_dim). Angles are in double, the rotation in fp32. The
// backward pass rotates gradients by the negative angle.
#pragma once

#include "kernels/sequence_positions.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct RopeShape {
    SequencePositions sequence;  // positions of the local tokens
    std::int64_t batch = 1;
    std::int64_t heads = 0;  // on this rank
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;  // even
    double base = 10000.0;
};

void rope_forward(const RopeShape& shape, TensorView qkv);
void rope_backward(const RopeShape& shape, TensorView dqkv);

}  // namespace orrery::cpu
