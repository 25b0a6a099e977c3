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

ScheduleShape ScheduleShape::of_flush() const {
    ORRERY_CHECK(flushes > 0 && micro_batches % flushes == 0);
    ScheduleShape one = *this;
    one.micro_batches /= flushes;
    one.flushes = 1;
    return one;
}

namespace {

// Nothing of a later flush comes before the last pass of the one before it.
StageOrder flush_by_flush(ScheduleKind kind, const ScheduleShape& shape, std::int32_t stage) {
    const ScheduleShape one = shape.of_flush();
    const StageOrder of_one = stage_order(kind, one, stage);
    StageOrder order;
    order.reserve(of_one.size() * static_cast<std::size_t>(shape.flushes));
    for (std::int32_t flush = 0; flush < shape.flushes; ++flush) {
        for (WorkItem item : of_one) {
            item.micro_batch += flush * one.micro_batches;
            order.push_back(item);
        }
    }
    return order;
}

}  // namespace

StageOrder stage_order(ScheduleKind kind, const ScheduleShape& shape, std::int32_t stage) {
    ORRERY_CHECK(shape.stages > 0 && shape.chunks > 0 && shape.micro_batches > 0);
    ORRERY_CHECK(stage >= 0 && stage < shape.stages);
    if (shape.flushes > 1) {
        return flush_by_flush(kind, shape, stage);
    }
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
