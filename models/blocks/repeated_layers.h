// SPDX-License-Identifier: Apache-2.0
// Makes the passes of a chunk of many layers from the lowered passes of a chunk of few layers. All
// layers of a model are lowered alike, except that the first and last layers of a chunk have other
// neighbours. A layer in the middle therefore stands for all other middle layers. A search lowers
// each block of a plan once (scenarios/studies/search/lowered_chunk.h), however many layers its
// chunks have.
#pragma once

#include <memory>

#include "models/blocks/chunk_lowering.h"

namespace orrery {

// Layers of the short chunk: two at each end, and two in the middle that are compared.
inline constexpr std::int64_t kFewLayers = 6;

// Whether all layers of the model are equal in any chunk.
bool layers_are_alike(const Transformer& model, const ParallelPlan& plan);

// Lowers the chunk of `shape`, which has more than kFewLayers layers, from `few`. `few` has
// kFewLayers layers, is lowered in `program`, and is otherwise equal. `tables` belongs to an empty
// program; it gets the calls and groups of `program`. The segments have the ops of lower_chunk()
// with their calls, launches and waits, but no names. Only the operands remain for which another
// slot may wait (models/segments/slot_waits.h): parameters, boundary values, and tensors that
// several streams touch. Tensors other than parameters have only a lifetime. Returns null if the
// layers do not repeat.
std::unique_ptr<Chunk> repeat_layers(ProgramTables& tables,
                                     const Transformer& model,
                                     const LayoutAssignment& layouts,
                                     const ChunkShape& shape,
                                     const Program& program,
                                     Chunk& few);

}  // namespace orrery
