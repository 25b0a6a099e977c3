// SPDX-License-Identifier: Apache-2.0
// Workers of a sweep on this machine: forked processes that take points from one queue. They die
// with their parent. One that a point ends is replaced, and the point is named.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/sweep/point_queue.h"

namespace orrery {

struct CrashedPoint {
    std::int64_t point = 0;  // as the queue counts
    int signal = 0;
};

// `work` is what a worker does with a point; an error stops all workers. `done` is told how many of
// the `points` have been taken.
Result<std::vector<CrashedPoint>> run_workers(
    std::uint32_t workers,
    std::int64_t points,
    const std::function<Result<void>(std::uint32_t worker, std::int64_t point)>& work,
    const std::function<void(std::int64_t)>& done);

}  // namespace orrery
