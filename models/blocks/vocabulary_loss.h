// SPDX-License-Identifier: Apache-2.0
// The output layer and the loss where every pipeline stage has a part of the vocabulary
// (plan.vocabulary_parallel): the last stage's norm goes to all of them, and the sums over their
// parts come back to it.
#pragma once

#include "models/blocks/chunk_lowering.h"

namespace orrery {

// Makes chunk.loss_forward and chunk.loss_backward, the segments of a micro-batch, after the
// chunk's passes.
void lower_vocabulary_loss(ProgramTables& tables,
                           const Transformer& model,
                           const ParallelPlan& plan,
                           const LayoutAssignment& layouts,
                           Chunk& chunk);

}  // namespace orrery
