// SPDX-License-Identifier: Apache-2.0
// Workers of a sweep on this machine: forked processes that take points from one queue. They end
// with their parent. If a point ends its worker, the worker is replaced and the point is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/sweep/point_queue.h"

namespace orrery {

struct CrashedPoint {
    std::int64_t point = 0;  // number in the queue
    int signal = 0;
};

// `work` computes a point in a worker; an error stops all workers. `done` is called with the number
// of taken points.
Result<std::vector<CrashedPoint>> run_workers(
    std::uint32_t workers,
    std::int64_t points,
    const std::function<Result<void>(std::uint32_t worker, std::int64_t point)>& work,
    const std::function<void(std::int64_t)>& done);

}  // namespace orrery
