// SPDX-License-Identifier: Apache-2.0
// The passes of a chunk of many layers from the lowered passes of a chunk of few. Layers of one
// model are lowered alike, but the first and the last of a chunk have other neighbours. So a layer
// in the middle stands for all others there. A search lowers each block of a plan once
// (scenarios/studies/search/lowered_chunk.h), however many layers its chunks have.
#pragma once

#include <memory>

#include "models/blocks/chunk_lowering.h"

namespace orrery {

// Layers of the chunk that is repeated: two at each end, and two in the middle to compare.
inline constexpr std::int64_t kFewLayers = 6;

// Whether no layer of the model differs from the others, whatever chunk it is in.
bool layers_are_alike(const Transformer& model, const ParallelPlan& plan);

// The chunk of `shape` with more than kFewLayers layers, from `few`, which has kFewLayers layers,
// is lowered in `program` and else equals it. `tables` are of a program without entries; it gets
// the calls and groups of `program`. Its segments have the ops that lower_chunk() gives, with their
// calls, launches and waits, and no names. Of the operands only the ones are left that another slot
// may wait for (models/segments/slot_waits.h): parameters, boundary values, and what several
// streams touch. Tensors but parameters have a lifetime and nothing else. Null if the layers do not
// repeat.
std::unique_ptr<Chunk> repeat_layers(ProgramTables& tables,
                                     const Transformer& model,
                                     const LayoutAssignment& layouts,
                                     const ChunkShape& shape,
                                     const Program& program,
                                     Chunk& few);

}  // namespace orrery
