// SPDX-License-Identifier: Apache-2.0
// Walks the orders of all ranks of DualPipe against their dependencies, without communication.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/dual_pipe.h"

namespace orrery {

// In any unit; backward includes weight.
struct DualPassTimes {
    std::int64_t forward = 1;
    std::int64_t backward = 2;
    std::int64_t weight = 1;
    std::int64_t pair = 3;
};
struct DualPipeRun {
    std::int64_t makespan = 0;
    std::vector<std::int64_t> idle{};  // of each rank
};
DualPipeRun dual_pipe_run(std::int32_t stages,
                          std::int32_t micro_batches,
                          const DualPassTimes& times);
DualPipeRun dual_pipe_v_run(std::int32_t ranks,
                            std::int32_t micro_batches,
                            const DualPassTimes& times);
// (p/2 - 1)(pair + backward - 3 weight), the idle time of a rank by the paper: exact if a pair
// takes as long as its two passes, else an upper bound.
std::int64_t dual_pipe_bubble(std::int32_t stages, const DualPassTimes& times);

}  // namespace orrery
