// SPDX-License-Identifier: Apache-2.0
// Attention over a cache of keys and values: the calls of kernels/attention with the bytes that a
// cache of another precision, of a window or of latent vectors has.
#pragma once

#include <span>
#include <string_view>

#include "kernels/attention/attention.h"
#include "models/plan/batch_shape.h"
#include "models/serving/serving_plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

KernelCall cached_attention(const Transformer& model,
                            const ServingPlan& plan,
                            const AttentionShape& shape);

// The op of the attention of a step's prompts.
inline constexpr std::string_view kPromptAttention = "prompt attention";

// One kernel for all prompts of a step, whatever their lengths: as many rows and keys as the mean
// chunk has, and the sum of all chunks' operations and bytes. `shape` has the heads; at least one
// chunk.
KernelCall prompt_attention(const Transformer& model,
                            const ServingPlan& plan,
                            AttentionShape shape,
                            std::span<const PromptChunk> chunks);

// One kernel of FlashAttention 2 for the prompts of a step and its sequences that generate. A tile
// has 64 query rows of one head, and only without prompts do the heads that share keys and values
// become rows of a tile: a sequence that generates one token fills one row (csrc/flash_attn:
// kBlockM of a paged cache in src/flash_fwd_launch_template.h, seqlenq_ngroups_swapped in
// flash_api.cpp).
KernelCall joint_attention(const KernelCall& prompts, const KernelCall& generation);

}  // namespace orrery
