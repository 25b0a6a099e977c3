// SPDX-License-Identifier: Apache-2.0
// The norms of queries and keys behind their projection (Transformer::qk_layernorm).
//
//   of each head    the time of one kernel: SGLang norms keys on a second stream meanwhile
//                   (models/qwen3.py), vLLM's compiler joins the norms with the rotary embedding;
//                   TensorRT-LLM's rotary kernel does it on the way (fusedQKNormRopeKernel.cu)
//   over all heads  a kernel sums squares, an all-reduce adds up two sums of a token over the
//                   tensor-parallel ranks, and another kernel norms (MiniMax-M2: SGLang pull
//                   request 14416, vLLM pull request 31493)
#pragma once

#include <cstdint>
#include <vector>

#include "models/serving/serving_step.h"

namespace orrery {

// Adds the ops of `layers` layers on a rank with `tokens` tokens.
void add_head_norms(const Transformer& model,
                    const ServingPlan& plan,
                    std::int64_t tokens,
                    std::int64_t layers,
                    std::vector<ServingOp>& ops);

}  // namespace orrery
