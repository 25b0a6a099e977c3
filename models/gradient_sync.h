// SPDX-License-Identifier: Apache-2.0
// What happens to parameters and gradients once a step: reduction of gradients over the data axes
// in buckets, the optimizer on the shard that a rank keeps, gathering of the updated parameters.
// The collectives follow from how gradients, optimizer state and weights lie on the data axes.
#pragma once

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

// Segments of one chunk; empty optionals in the form of `has_*` where there is nothing to do.
struct SyncSegments {
    bool has_gradient_sync = false;
    SegmentId gradient_sync{};
    bool has_parameter_sync = false;
    SegmentId parameter_sync{};
};
SyncSegments lower_sync(ProgramTables& tables,
                        const Transformer& model,
                        const ParallelPlan& plan,
                        const LayoutAssignment& layouts,
                        Chunk& chunk);

// The all-reduce of a tied embedding's gradient between the stages that hold a copy.
SegmentId lower_tied_embedding_sync(ProgramTables& tables,
                                    const Transformer& model,
                                    const ParallelPlan& plan,
                                    const LayoutAssignment& layouts,
                                    Parameter& copy);

// Gradient norm, clipping and the optimizer over all chunks of a stage.
SegmentId lower_optimizer(ProgramTables& tables,
                          const Transformer& model,
                          const ParallelPlan& plan,
                          const LayoutAssignment& layouts,
                          std::int32_t stage,
                          const std::vector<Chunk*>& chunks);

}  // namespace orrery
