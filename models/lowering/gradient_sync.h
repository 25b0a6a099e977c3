// SPDX-License-Identifier: Apache-2.0
// Transfers that happen once a step: the reduction of gradients over the data digits, in buckets,
// and the gather of updated parameters. The collectives are the transitions between the layouts of
// models/plan/state_layouts.h.
#pragma once

#include <optional>
#include <vector>

#include "models/blocks/chunk_lowering.h"

namespace orrery {

// Gradients that are reduced together, in the order in which the backward pass completes them.
struct Bucket {
    std::vector<Parameter*> parameters;
    std::int64_t elements = 0;
};
// Parameters that passes reduce or gather unit by unit are in no bucket
// (models/blocks/unit_weights.h).
enum class BucketsOf : std::uint8_t { gradients, weights };
std::vector<Bucket> make_buckets(Chunk& chunk,
                                 const ParallelPlan& plan,
                                 const LayoutAssignment& layouts,
                                 BucketsOf what = BucketsOf::gradients);

// Segments of one chunk; empty if there is nothing to do.
struct SyncSegments {
    std::optional<SegmentId> gradients{};
    std::optional<SegmentId> parameters{};
};
SyncSegments lower_sync(ProgramTables& tables,
                        const ParallelPlan& plan,
                        const LayoutAssignment& layouts,
                        Chunk& chunk);

// The all-reduce of the tied embedding's gradient between the stages that hold a copy. `chunk` must
// hold one.
SegmentId lower_tied_embedding_sync(ProgramTables& tables,
                                    const LayoutAssignment& layouts,
                                    const Chunk& chunk);

// The sum of the chunk's gradients over the two stages that hold the chunk (DualPipe).
SegmentId lower_copies_sync(ProgramTables& tables, const LayoutAssignment& layouts, Chunk& chunk);

}  // namespace orrery
