// SPDX-License-Identifier: Apache-2.0
// Ranks of an instance that share each sequence's cache by position; each has all heads. Attention
// of a generating sequence is then a reduction over the ranks. Each rank has the numerator, the
// denominator and the maximum of its part, and the parts can be merged in any order. A tree reduces
// these few numbers; a ring passes the keys and values themselves (Shyam et al., Tree Attention,
// arXiv 2408.04093, sections 5 and 6).
#pragma once

#include <vector>

#include "models/plan/batch_shape.h"
#include "models/serving/serving_step.h"

namespace orrery {

// The part of the busiest rank of a stage. Sequences are divided among data-parallel ranks; the new
// tokens of prompts and the visible tokens are divided among the ranks of a context. Each rank of a
// context computes all generated tokens.
BatchShape share_of_rank(const BatchShape& shape, const ServingPlan& plan);

// Appends the exchanges of `layers` layers between ranks that share a context. `shape` is one
// rank's part.
void add_context_exchange(const Transformer& model,
                          const ServingPlan& plan,
                          const BatchShape& shape,
                          std::int64_t layers,
                          std::vector<ServingOp>& ops);

}  // namespace orrery
