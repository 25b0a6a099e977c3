// SPDX-License-Identifier: Apache-2.0
#include "models/schedule/schedule.h"

#include "engine/base/check.h"
#include "models/schedule/dual_pipe.h"

namespace orrery {

ChunkPlacement placement_of(ScheduleKind kind) {
    return kind == ScheduleKind::dual_pipe     ? ChunkPlacement::both_ends
           : kind == ScheduleKind::dual_pipe_v ? ChunkPlacement::v_shape
                                               : ChunkPlacement::looping;
}

std::int32_t ScheduleShape::virtual_stage(std::int32_t stage, std::int32_t chunk) const {
    return ascends(chunk) ? chunk * stages + stage : virtual_stages() - 1 - stage;
}

StageOrder stage_order(ScheduleKind kind, const ScheduleShape& shape, std::int32_t stage) {
    ORRERY_CHECK(shape.stages > 0 && shape.chunks > 0 && shape.micro_batches > 0);
    ORRERY_CHECK(stage >= 0 && stage < shape.stages);
    switch (kind) {
        case ScheduleKind::gpipe:
            return gpipe(shape, stage);
        case ScheduleKind::one_f_one_b:
            return shape.shares_loss ? shared_loss_1f1b(shape, stage) : one_f_one_b(shape, stage);
        case ScheduleKind::interleaved_1f1b:
            return interleaved_1f1b(shape, stage);
        case ScheduleKind::breadth_first:
            return breadth_first(shape, stage);
        case ScheduleKind::zero_bubble:
            return zero_bubble(shape, stage);
        case ScheduleKind::dual_pipe:
            return dual_pipe(shape, stage);
        case ScheduleKind::dual_pipe_v:
            return dual_pipe_v(shape, stage);
    }
    ORRERY_CHECK(false);
    return {};
}

}  // namespace orrery
