// SPDX-License-Identifier: Apache-2.0
// 1F1B with a flush (PipeDream-Flush; Narayanan et al., SC 2021, section 2.2): stage s warms up
// with p-s-1 forward passes. Then forward and backward passes alternate. At most p-s micro-batches
// are in flight. The bubble is GPipe's, (p-1)/m of the ideal time.
#include <algorithm>

#include "engine/base/check.h"
#include "models/schedule/schedule.h"

namespace orrery {

StageOrder one_f_one_b(const ScheduleShape& shape, std::int32_t stage) {
    ORRERY_CHECK(shape.chunks == 1);
    const std::int32_t warm_up = std::min(shape.stages - stage - 1, shape.micro_batches);
    StageOrder order;
    for (std::int32_t mb = 0; mb < warm_up; ++mb) {
        order.push_back({.pass = Pass::forward, .micro_batch = mb});
    }
    for (std::int32_t mb = 0; mb < shape.micro_batches; ++mb) {
        if (mb + warm_up < shape.micro_batches) {
            order.push_back({.pass = Pass::forward, .micro_batch = mb + warm_up});
        }
        order.push_back({.pass = Pass::backward, .micro_batch = mb});
    }
    return order;
}

}  // namespace orrery
