// SPDX-License-Identifier: Apache-2.0
// ZB-H1 (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2): 1F1B with the
// backward pass split into input gradients (B) and weight gradients (W). No pass waits for W, so
// stage s defers s of them and fills its drain with them. It then holds p micro-batches at most,
// like 1F1B's first stage. The bubble is (p-1)(F + max(B-W, 0)) instead of (p-1)(F+B+W).
#include <algorithm>

#include "engine/base/check.h"
#include "models/schedule/schedule.h"

namespace orrery {

StageOrder zero_bubble(const ScheduleShape& shape, std::int32_t stage) {
    ORRERY_CHECK(shape.chunks == 1);
    const std::int32_t warm_up = std::min(shape.stages - stage - 1, shape.micro_batches);
    StageOrder order;
    for (std::int32_t mb = 0; mb < warm_up; ++mb) {
        order.push_back({.pass = Pass::forward, .micro_batch = mb});
    }
    std::int32_t weights_done = 0;
    for (std::int32_t mb = 0; mb < shape.micro_batches; ++mb) {
        if (mb + warm_up < shape.micro_batches) {
            order.push_back({.pass = Pass::forward, .micro_batch = mb + warm_up});
        }
        order.push_back({.pass = Pass::backward_input, .micro_batch = mb});
        if (mb - weights_done >= stage) {
            order.push_back({.pass = Pass::backward_weight, .micro_batch = weights_done++});
        }
    }
    while (weights_done < shape.micro_batches) {
        order.push_back({.pass = Pass::backward_weight, .micro_batch = weights_done++});
    }
    return order;
}

}  // namespace orrery
