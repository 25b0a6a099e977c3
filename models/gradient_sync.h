// SPDX-License-Identifier: Apache-2.0
// What happens to parameters and gradients once a step: reduction of gradients over the data digits
// in buckets, the optimizer on the shard that a rank keeps, gathering of the updated parameters.
// The collectives are the transitions between the layouts of models/state_layouts.h.
#pragma once

#include <optional>
#include <vector>

#include "models/chunk_lowering.h"

namespace orrery {

// One bucket of gradients that are reduced together, in the order in which the backward pass
// completes them.
struct Bucket {
    std::vector<Parameter*> parameters;
    std::int64_t elements = 0;
};
std::vector<Bucket> make_buckets(Chunk& chunk,
                                 const ParallelPlan& plan,
                                 const LayoutAssignment& layouts);

// Segments of one chunk; nothing where there is nothing to do.
struct SyncSegments {
    std::optional<SegmentId> gradients{};
    std::optional<SegmentId> parameters{};
};
SyncSegments lower_sync(ProgramTables& tables,
                        const ParallelPlan& plan,
                        const LayoutAssignment& layouts,
                        Chunk& chunk);

// The all-reduce of a tied embedding's gradient between the stages that hold a copy; this chunk
// does.
SegmentId lower_tied_embedding_sync(ProgramTables& tables,
                                    const LayoutAssignment& layouts,
                                    const Chunk& chunk);

// Adds the chunk's gradients of the two stages that have it (DualPipe).
SegmentId lower_copies_sync(ProgramTables& tables, const LayoutAssignment& layouts, Chunk& chunk);

struct OptimizerSegments {
    SegmentId first{};                // gradient norm, clipping, and the step of the chunks
    std::uint32_t norm = 0;           // position of the op that ends the norm
    std::optional<SegmentId> rest{};  // the step of the chunks but the first, if it is apart
};
// The end of the step over all chunks of a stage.
OptimizerSegments lower_optimizer(ProgramTables& tables,
                                  const ParallelPlan& plan,
                                  const LayoutAssignment& layouts,
                                  std::int32_t stage,
                                  const std::vector<Chunk*>& chunks);

}  // namespace orrery
