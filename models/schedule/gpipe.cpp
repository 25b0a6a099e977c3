// SPDX-License-Identifier: Apache-2.0
// GPipe (Huang et al., NeurIPS 2019, figure 2): all micro-batches forward, then all backward in
// reverse order. The activations of all micro-batches are in flight at once. The bubble is (p-1)/m
// of the ideal time.
#include "engine/base/check.h"
#include "models/schedule/schedule.h"

namespace orrery {

StageOrder gpipe(const ScheduleShape& shape, std::int32_t /*stage*/) {
    ORRERY_CHECK(shape.chunks == 1);
    StageOrder order;
    for (std::int32_t mb = 0; mb < shape.micro_batches; ++mb) {
        order.push_back({.pass = Pass::forward, .micro_batch = mb});
    }
    for (std::int32_t mb = shape.micro_batches - 1; mb >= 0; --mb) {
        order.push_back({.pass = Pass::backward, .micro_batch = mb});
    }
    return order;
}

}  // namespace orrery
