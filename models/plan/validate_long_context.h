// SPDX-License-Identifier: Apache-2.0
// Rules of a plan for sequences longer than memory: tiles, layer inputs in host memory or shared
// between ranks, and what kernels can reach.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The most tokens of a rank that norms with 32-bit offsets reach. The widest rows are those of the
// residual stream, or of a token's heads where these have norms of their own.
std::int64_t tokens_of_32_bit_offsets(const Transformer& model, const ParallelPlan& plan);
// The tokens of a rank that norms of layers read in one micro-batch.
std::int64_t tokens_of_norms(const Transformer& model, const ParallelPlan& plan);

// Each error names a key.
Errors check_long_context(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
