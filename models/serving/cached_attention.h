// SPDX-License-Identifier: Apache-2.0
// Attention over a cache of keys and values: the calls of kernels/attention with the bytes that a
// cache of another precision, of a window or of latent vectors has.
#pragma once

#include <span>

#include "kernels/attention/attention.h"
#include "models/plan/batch_shape.h"
#include "models/serving/serving_plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

KernelCall cached_attention(const Transformer& model,
                            const ServingPlan& plan,
                            const AttentionShape& shape);

// One kernel for all prompts of a step, whatever their lengths: as many rows and keys as the mean
// chunk has, and the sum of all chunks' operations and bytes. `shape` has the heads; at least one
// chunk.
KernelCall prompt_attention(const Transformer& model,
                            const ServingPlan& plan,
                            AttentionShape shape,
                            std::span<const PromptChunk> chunks);

}  // namespace orrery
