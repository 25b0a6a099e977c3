// SPDX-License-Identifier: Apache-2.0
// A pipeline schedule is a pure function: the order in which one stage works on (pass, chunk,
// micro-batch). Communication is not part of it: the lowering derives receives and sends from who
// computes the neighbouring chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"
#include "models/plan/plan.h"

namespace orrery {

// Which part of the model a chunk of a stage is, and where its neighbours are.
enum class ChunkPlacement : std::uint8_t {
    looping,    // chunk c of stage s is part c * stages + s; the first stage is behind the last
    v_shape,    // two chunks: there and back, parts s and 2 * stages - 1 - s (DualPipeV)
    both_ends,  // two chunks: part s, and a copy of part stages - 1 - s for the micro-batches that
                // come in at the other end (DualPipe)
};
ChunkPlacement placement_of(ScheduleKind kind);

struct ScheduleShape {
    std::int32_t stages = 1;
    std::int32_t chunks = 1;  // model chunks a stage
    std::int32_t micro_batches = 1;
    ChunkPlacement placement = ChunkPlacement::looping;
    bool shares_loss = false;  // all stages work on the loss of each micro-batch together
    bool operator==(const ScheduleShape&) const = default;

    // Parts of the model, and the part that a chunk is.
    std::int32_t virtual_stages() const {
        return placement == ChunkPlacement::both_ends ? stages : stages * chunks;
    }
    std::int32_t virtual_stage(std::int32_t stage, std::int32_t chunk) const;
    // Forward passes of the chunk send to the next stage; else to the one before.
    bool ascends(std::int32_t chunk) const {
        return placement == ChunkPlacement::looping || chunk == 0;
    }
    // The stage has this chunk and the part behind it: nothing is sent between them.
    bool turns_at(std::int32_t stage) const {
        return placement == ChunkPlacement::v_shape && stage == stages - 1;
    }
};

// pass is forward, backward (both gradients), backward_input or backward_weight. Where all stages
// share the loss (ScheduleShape::shares_loss), loss_forward is a stage's part up to what all must
// know of it, and loss_backward, with the sums over all stages, the gradient of the last stage's
// output.
struct WorkItem {
    Pass pass = Pass::forward;
    std::int32_t chunk = 0;
    std::int32_t micro_batch = 0;
    bool operator==(const WorkItem&) const = default;
};

using StageOrder = std::vector<WorkItem>;

// One file each.
StageOrder gpipe(const ScheduleShape& shape, std::int32_t stage);
StageOrder one_f_one_b(const ScheduleShape& shape, std::int32_t stage);
StageOrder shared_loss_1f1b(const ScheduleShape& shape, std::int32_t stage);
StageOrder interleaved_1f1b(const ScheduleShape& shape, std::int32_t stage);
StageOrder breadth_first(const ScheduleShape& shape, std::int32_t stage);
StageOrder zero_bubble(const ScheduleShape& shape, std::int32_t stage);

StageOrder stage_order(ScheduleKind kind, const ScheduleShape& shape, std::int32_t stage);

}  // namespace orrery
