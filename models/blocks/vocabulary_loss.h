// SPDX-License-Identifier: Apache-2.0
// The output layer and the loss if every pipeline stage has a part of the vocabulary
// (plan.vocabulary_parallel). The last stage sends the output of its norm to all stages, and the
// sums over their parts return to it.
#pragma once

#include "models/blocks/chunk_lowering.h"

namespace orrery {

// Makes chunk.loss_forward and chunk.loss_backward, the segments for one micro-batch. Must follow
// the lowering of the chunk's passes.
void lower_vocabulary_loss(ProgramTables& tables,
                           const Transformer& model,
                           const ParallelPlan& plan,
                           const LayoutAssignment& layouts,
                           Chunk& chunk);

}  // namespace orrery
