// SPDX-License-Identifier: Apache-2.0
// Ranks of an instance that share each sequence's cache by position, every one with all heads.
// Attention of a sequence that generates is then a reduction over them: each rank has the
// numerator, the denominator and the maximum of its part, which can be merged in any order. A tree
// reduces these few numbers; a ring passes the keys and values themselves (Shyam et al., Tree
// Attention, arXiv 2408.04093, sections 5 and 6).
#pragma once

#include <vector>

#include "models/plan/batch_shape.h"
#include "models/serving/serving_step.h"

namespace orrery {

// The share of the busiest rank of a stage: of sequences and, along the context, of the new tokens
// of prompts and of what sequences see. Ranks of a context all compute the tokens that are
// generated.
BatchShape share_of_rank(const BatchShape& shape, const ServingPlan& plan);

// Appends what ranks that share a context exchange in `layers` layers. `shape` is a rank's share.
void add_context_exchange(const Transformer& model,
                          const ServingPlan& plan,
                          const BatchShape& shape,
                          std::int64_t layers,
                          std::vector<ServingOp>& ops);

}  // namespace orrery
