// SPDX-License-Identifier: Apache-2.0
// The parameters of a model chunk with their layouts and persistent tensors.
#pragma once

#include "models/blocks/chunk_lowering.h"

namespace orrery {

// Fills the parameters of `chunk`, whose shape must be set. With `tied` the output weight has the
// tensors of that chunk's embedding.
void create_parameters(ProgramTables& tables,
                       const Transformer& model,
                       const LayoutAssignment& layouts,
                       const Chunk* tied,
                       Chunk& chunk);

}  // namespace orrery
