// SPDX-License-Identifier: Apache-2.0
// A pipeline schedule is a pure function: the order in which one stage works on (pass, chunk,
// micro-batch). It has no communication: the lowering derives receives and sends from the stages of
// the neighbouring chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"
#include "models/plan/plan.h"

namespace orrery {

// The part of the model that a chunk of a stage holds, and the places of its neighbours.
enum class ChunkPlacement : std::uint8_t {
    looping,  // chunk c of stage s is part c * stages + s; the last stage sends on to the first
    v_shape,  // two chunks, down and back: parts s and 2 * stages - 1 - s (DualPipeV)
    // Two chunks: part s, and a copy of part stages - 1 - s for the micro-batches that enter at the
    // other end (DualPipe)
    both_ends,
};
ChunkPlacement placement_of(ScheduleKind kind);

struct ScheduleShape {
    std::int32_t stages = 1;
    std::int32_t chunks = 1;  // model chunks of each stage
    std::int32_t micro_batches = 1;
    std::int32_t flushes = 1;  // times that the pipeline fills and drains in a step
    ChunkPlacement placement = ChunkPlacement::looping;
    bool shares_loss = false;  // all stages have a part of the vocabulary
    bool operator==(const ScheduleShape&) const = default;

    // The number of parts of the model, and the part that a chunk holds.
    std::int32_t virtual_stages() const {
        return placement == ChunkPlacement::both_ends ? stages : stages * chunks;
    }
    std::int32_t virtual_stage(std::int32_t stage, std::int32_t chunk) const;
    // From one filling of the pipeline to its draining.
    ScheduleShape of_flush() const;
    // Whether forward passes of the chunk send to the next stage. Otherwise they send to the
    // previous stage.
    bool ascends(std::int32_t chunk) const {
        return placement == ChunkPlacement::looping || chunk == 0;
    }
    // Whether the stage holds this chunk and the following part: nothing is sent between the two.
    bool turns_at(std::int32_t stage) const {
        return placement == ChunkPlacement::v_shape && stage == stages - 1;
    }
};

// The pass is forward, backward (both gradients), backward_input or backward_weight. With
// ScheduleShape::shares_loss there are those of the shared vocabulary, too (loss_ and embedding_).
struct WorkItem {
    Pass pass = Pass::forward;
    std::int32_t chunk = 0;
    std::int32_t micro_batch = 0;
    bool operator==(const WorkItem&) const = default;
};

using StageOrder = std::vector<WorkItem>;

// Each schedule has a file of its own.
StageOrder gpipe(const ScheduleShape& shape, std::int32_t stage);
StageOrder one_f_one_b(const ScheduleShape& shape, std::int32_t stage);
StageOrder shared_loss_1f1b(const ScheduleShape& shape, std::int32_t stage);
StageOrder interleaved_1f1b(const ScheduleShape& shape, std::int32_t stage);
// The number of forward passes that a stage runs before its first pair of a forward and a backward
// pass in that order.
std::int32_t interleaved_warm_up(const ScheduleShape& shape, std::int32_t stage);
StageOrder breadth_first(const ScheduleShape& shape, std::int32_t stage);
StageOrder zero_bubble(const ScheduleShape& shape, std::int32_t stage);

StageOrder stage_order(ScheduleKind kind, const ScheduleShape& shape, std::int32_t stage);

}  // namespace orrery
