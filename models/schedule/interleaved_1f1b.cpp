// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B (Narayanan et al., SC 2021, section 2.2): a stage holds v chunks and alternates
// between them in groups of p micro-batches. Stage s warms up with 2(p-s-1) + (v-1)p forward
// passes, like Megatron-LM. Then forward and backward passes alternate. The bubble is (p-1)/(v m).
//
// Megatron-LM requires p | m. A last group of fewer than p micro-batches would deadlock or stall.
// Here m is cut into floor(m/p) groups whose sizes differ by one at most, the larger first, and the
// warm-up covers v-1 turns of the largest. If p | m, the schedule is Megatron-LM's. If m < p, all
// passes are warm-up.
#include <algorithm>

#include "models/schedule/schedule.h"

namespace orrery {
namespace {

// The order of one pass: group by group, in a group chunk by chunk.
StageOrder turns(const ScheduleShape& shape, Pass pass) {
    const std::int32_t groups = std::max(1, shape.micro_batches / shape.stages);
    StageOrder order;
    std::int32_t first = 0;
    for (std::int32_t group = 0; group < groups; ++group) {
        const bool larger = group < shape.micro_batches % groups;
        const std::int32_t end = first + shape.micro_batches / groups + (larger ? 1 : 0);
        for (std::int32_t turn = 0; turn < shape.chunks; ++turn) {
            const std::int32_t chunk = pass == Pass::forward ? turn : shape.chunks - 1 - turn;
            for (std::int32_t mb = first; mb < end; ++mb) {
                order.push_back({.pass = pass, .chunk = chunk, .micro_batch = mb});
            }
        }
        first = end;
    }
    return order;
}

}  // namespace

std::int32_t interleaved_warm_up(const ScheduleShape& shape, std::int32_t stage) {
    const std::int32_t passes = shape.chunks * shape.micro_batches;
    if (shape.micro_batches < shape.stages) {
        return passes;
    }
    const std::int32_t groups = shape.micro_batches / shape.stages;
    const std::int32_t largest = (shape.micro_batches + groups - 1) / groups;
    return std::min(passes, 2 * (shape.stages - stage - 1) + (shape.chunks - 1) * largest);
}

StageOrder interleaved_1f1b(const ScheduleShape& shape, std::int32_t stage) {
    if (shape.chunks == 1) {
        return one_f_one_b(shape, stage);
    }
    const StageOrder forward = turns(shape, Pass::forward);
    const StageOrder backward = turns(shape, Pass::backward);
    const auto warm_up = static_cast<std::size_t>(interleaved_warm_up(shape, stage));
    StageOrder order(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(warm_up));
    for (std::size_t i = 0; i < backward.size(); ++i) {
        if (i + warm_up < forward.size()) {
            order.push_back(forward[i + warm_up]);
        }
        order.push_back(backward[i]);
    }
    return order;
}

}  // namespace orrery
