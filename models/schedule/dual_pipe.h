// SPDX-License-Identifier: Apache-2.0
// DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1; deepseek-ai/DualPipe): half of the
// micro-batches enter at each end of the pipeline, and a rank holds the stages r and p-1-r. In the
// middle of a step, the forward pass of one direction overlaps the backward pass of the other.
// DualPipeV does the same on p/2 ranks with one direction: its stages run down the pipeline and
// back.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.h"

namespace orrery {

enum class DualStepKind : std::uint8_t {
    forward,
    backward,        // gradients of inputs and weights
    backward_input,  // gradients of inputs only; a later step computes those of the weights
    weight,          // weight gradients of the earliest backward_input that lacks them
    pair,            // a forward pass and a backward pass (both gradients) that overlap
};

// A pass by its direction (DualPipe) or by its chunk (DualPipeV): 0 or 1.
struct DualPass {
    std::int32_t direction = 0;
    std::int32_t micro_batch = 0;
    bool operator==(const DualPass&) const = default;
};
struct DualStep {
    DualStepKind kind = DualStepKind::forward;
    DualPass forward{};   // with forward and pair
    DualPass backward{};  // with all other kinds and pair
};

// The steps of one rank. The number of stages is even. The number of micro-batches is even and at
// least twice the number of stages.
std::vector<DualStep> dual_pipe_steps(std::int32_t stages,
                                      std::int32_t micro_batches,
                                      std::int32_t rank);
// The steps of one of `ranks` ranks, each with two stages. There are at least twice as many
// micro-batches as ranks.
std::vector<DualStep> dual_pipe_v_steps(std::int32_t ranks,
                                        std::int32_t micro_batches,
                                        std::int32_t rank);

// The steps as a sequence of passes, chunks being directions. The backward pass of a pair comes
// directly before its forward pass. No other backward pass with both gradients has a forward pass
// directly after it, so that pairs can be recognised.
StageOrder dual_pipe(const ScheduleShape& shape, std::int32_t stage);
StageOrder dual_pipe_v(const ScheduleShape& shape, std::int32_t stage);

}  // namespace orrery
