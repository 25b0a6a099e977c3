// SPDX-License-Identifier: Apache-2.0
// 1F1B whose stages compute the loss of each micro-batch together (after Yeung et al., arXiv
// 2411.05288). After the last stage's forward pass of a micro-batch, each stage computes its part
// of the output layer. When all stages have done so, each computes its gradients. When these have
// been added, the last stage's backward pass begins.
//
// Every stage works in turns of equal length. In turn k it works on both parts of the loss of
// micro-batch k. One forward and one backward pass follow, of the micro-batches that the neighbours
// had one turn before: p - s ahead of the loss, and p - s - 1 behind it. No stage waits inside a
// turn, however long its passes take, and the exchanges between all stages have one order. The
// price is memory: up to 2 (p - s) micro-batches are in flight, twice those of 1F1B.
#include "engine/base/check.h"
#include "models/schedule/schedule.h"

namespace orrery {

StageOrder shared_loss_1f1b(const ScheduleShape& shape, std::int32_t stage) {
    ORRERY_CHECK(shape.chunks == 1 && shape.placement == ChunkPlacement::looping);
    const std::int32_t ahead = shape.stages - stage;
    const std::int32_t behind = shape.stages - stage - 1;
    StageOrder order;
    const auto add = [&](Pass pass, std::int32_t micro_batch) {
        if (micro_batch >= 0 && micro_batch < shape.micro_batches) {
            order.push_back({.pass = pass, .micro_batch = micro_batch});
        }
    };
    for (std::int32_t turn = -ahead; turn < shape.micro_batches + behind; ++turn) {
        add(Pass::loss_forward, turn);
        add(Pass::loss_backward, turn);
        add(Pass::forward, turn + ahead);
        add(Pass::backward, turn - behind);
    }
    return order;
}

}  // namespace orrery
