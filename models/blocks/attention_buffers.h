// SPDX-License-Identifier: Apache-2.0
// What FlashAttention 2 allocates for its backward pass besides the gradients
// (plan.attention_backward_buffers; flash-attention, csrc/flash_attn/flash_api.cpp,
// mha_varlen_bwd).
#pragma once

#include <vector>

#include "models/segments/block_builder.h"

namespace orrery {

// dq_accum, the gradients of queries in fp32. Where several query heads share keys and values,
// dk_expanded and dv_expanded: the gradients of keys and values for each query head. Empty without
// the plan's key.
std::vector<Value> attention_backward_buffers(BlockBuilder& b, const Value& qkv);

}  // namespace orrery
