// SPDX-License-Identifier: Apache-2.0
// The end of a step: gradient norm, clipping, and the optimizer's step on the rank's shard. The
// device, its host (models/segments/host_optimizer.h) or both do the step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/blocks/chunk_lowering.h"

namespace orrery {

struct OptimizerSegments {
    SegmentId first{};  // gradient norm, clipping, and the step of all chunks or of the first one
    // The position of the op that a waiting host waits for: the norm, or the copy of weights that
    // the host has stepped.
    std::uint32_t read = 0;
    std::optional<SegmentId> rest{};  // the step of the other chunks, if it is separate
};
// The end of the step over all chunks of a stage.
OptimizerSegments lower_optimizer(ProgramTables& tables,
                                  const ParallelPlan& plan,
                                  const LayoutAssignment& layouts,
                                  std::int32_t stage,
                                  const std::vector<Chunk*>& chunks);

}  // namespace orrery
