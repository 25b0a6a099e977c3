// SPDX-License-Identifier: Apache-2.0
// The input embedding, the output layer and the loss if every pipeline stage has a part of the
// vocabulary (plan.vocabulary_parallel). The stages' rows of the embedding are added for the first
// stage. The last stage sends the output of its norm to all stages, and the sums over their parts
// return to it.
#pragma once

#include "models/blocks/chunk_lowering.h"

namespace orrery {

// Makes the segments of `chunk` whose names begin with loss_ and embedding_, for one micro-batch.
// Must follow the lowering of the chunk's passes.
void lower_shared_vocabulary(ProgramTables& tables,
                             const Transformer& model,
                             const ParallelPlan& plan,
                             const LayoutAssignment& layouts,
                             Chunk& chunk);

}  // namespace orrery
