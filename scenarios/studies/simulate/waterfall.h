// SPDX-License-Identifier: Apache-2.0
// The losses from the device's peak to the MFU, by cause. The parts add up to the step exactly, in
// picoseconds, because they are the critical path's own entries:
//   communication, launches, contention: their time on the critical path, less the kernels that ran
//   meanwhile beside the path;
//   kernels (inefficiency, memory-bound, recomputation, optimizer, interference): the mean over
//   ranks of their time;
//   pipeline_bubble: kernel time on the path beyond that of the busiest rank (the path runs through
//   other stages while a rank waits), stage_imbalance: the busiest rank beyond the mean, and with
//   unequal devices the work of slower ones beyond their share of all peaks;
//   noise: the additional time of kernels because the slowest device sets the pace;
//   useful_compute: the FLOPs that kernels really do, at peak, and counted_not_executed: FLOPs that
//   only the MFU convention counts (masked attention that a flash kernel skips), which is negative.
#pragma once

#include <vector>

#include "engine/world/simulation.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct WaterfallInput {
    const SimulationResult* result = nullptr;
    std::int64_t num_ranks = 1;
    double noise = 1;          // kernel times on the slowest device / on the mean one
    Time model_time;           // the counted model FLOPs at all devices' peak: iteration * MFU
    Time on_slower_devices{};  // work_on_slower_devices (scenarios/format/specs/node_devices.h)
};

// In the order of Cause, without useful_compute and without parts that are zero. The MFU and the
// parts' `mfu` add up to 1 up to rounding of the doubles; model_time and the parts' `time` add up
// to the iteration exactly.
std::vector<LostMfu> waterfall(const WaterfallInput& input);

}  // namespace orrery
