// SPDX-License-Identifier: Apache-2.0
// DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1; deepseek-ai/DualPipe): half of the
// micro-batches come in at either end of the pipeline, and a rank holds the stages r and p-1-r. In
// the middle of a step the forward pass of one direction runs beside the backward pass of the
// other. DualPipeV does the same on p/2 ranks: one direction, whose stages go there and back.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.h"

namespace orrery {

enum class DualStepKind : std::uint8_t {
    forward,
    backward,        // both gradients
    backward_input,  // the weights' gradients come later
    weight,          // of the earliest backward_input whose weights' gradients are missing
    pair,            // a forward and a whole backward pass, beside one another
};

// A pass by its direction (DualPipe) or by its chunk (DualPipeV): 0 or 1.
struct DualPass {
    std::int32_t direction = 0;
    std::int32_t micro_batch = 0;
    bool operator==(const DualPass&) const = default;
};
struct DualStep {
    DualStepKind kind = DualStepKind::forward;
    DualPass forward{};   // of forward and pair
    DualPass backward{};  // of the others and pair
};

// The steps of a rank. The number of stages is even; that of micro-batches is even, and at least
// twice as large.
std::vector<DualStep> dual_pipe_steps(std::int32_t stages,
                                      std::int32_t micro_batches,
                                      std::int32_t rank);
// The steps of a rank of `ranks`, each with two stages; at least twice as many micro-batches.
std::vector<DualStep> dual_pipe_v_steps(std::int32_t ranks,
                                        std::int32_t micro_batches,
                                        std::int32_t rank);

// As passes one after the other, a pair's backward pass first: nothing else is a whole backward
// pass with a forward pass behind it. Chunks are directions.
StageOrder dual_pipe(const ScheduleShape& shape, std::int32_t stage);
StageOrder dual_pipe_v(const ScheduleShape& shape, std::int32_t stage);

}  // namespace orrery
