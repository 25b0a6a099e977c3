// SPDX-License-Identifier: Apache-2.0
// Breadth-first pipeline (Lamy-Poirier, "Breadth-First Pipeline Parallelism", 2022): layers loop
// over the stages in chunks as in the interleaved schedule, but a chunk works on all micro-batches
// before the next chunk starts. A chunk's parameters are therefore gathered, and its gradients
// reduced, once a step under ZeRO 2 and 3. All micro-batches are in flight; the bubble is (p-1)/(v
// m) if m >= p.
#include "models/schedule/schedule.h"

namespace orrery {

StageOrder breadth_first(const ScheduleShape& shape, std::int32_t /*stage*/) {
    StageOrder order;
    for (std::int32_t chunk = 0; chunk < shape.chunks; ++chunk) {
        for (std::int32_t mb = 0; mb < shape.micro_batches; ++mb) {
            order.push_back({.pass = Pass::forward, .chunk = chunk, .micro_batch = mb});
        }
    }
    for (std::int32_t chunk = shape.chunks - 1; chunk >= 0; --chunk) {
        for (std::int32_t mb = 0; mb < shape.micro_batches; ++mb) {
            order.push_back({.pass = Pass::backward, .chunk = chunk, .micro_batch = mb});
        }
    }
    return order;
}

}  // namespace orrery
