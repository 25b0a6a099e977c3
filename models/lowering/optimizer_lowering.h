// SPDX-License-Identifier: Apache-2.0
// The end of a step: gradient norm, clipping, and the optimizer on the shard that a rank keeps, by
// the device, by its host (models/segments/host_optimizer.h), or by both.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/blocks/chunk_lowering.h"

namespace orrery {

struct OptimizerSegments {
    SegmentId first{};  // gradient norm, clipping, and the step of the chunks
    // Position of the op whose end the host waits for where it waits for one: that of the norm, or
    // the copy of weights that the host has stepped.
    std::uint32_t read = 0;
    std::optional<SegmentId> rest{};  // the step of the chunks but the first, if it is apart
};
// The end of the step over all chunks of a stage.
OptimizerSegments lower_optimizer(ProgramTables& tables,
                                  const ParallelPlan& plan,
                                  const LayoutAssignment& layouts,
                                  std::int32_t stage,
                                  const std::vector<Chunk*>& chunks);

}  // namespace orrery
