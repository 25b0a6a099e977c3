// SPDX-License-Identifier: Apache-2.0
// The work of one stage in a step, in order: the passes of its schedule with their messages, the
// data-parallel work and the optimizer. Only this file has the rules of this order. The lowering
// makes slots of it (models/lowering/lowering.h). The search makes a folded step
// (scenarios/studies/search/stage_builder.h) and counts the passes in flight
// (scenarios/studies/search/plan_bound.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/schedule/schedule.h"

namespace orrery {

enum class StageTask : std::uint8_t {
    gather_parameters,  // of a chunk, from the shards that the optimizer has updated
    receive,            // the operands of a pass from a neighbouring stage
    restart,            // the host resumes launching after it waited for messages
    pass,
    send,               // the results of a pass to a neighbouring stage
    reduce_gradients,   // of a chunk, over the data-parallel ranks
    reduce_tied,        // of the tied embedding, over the stages that hold a copy
    reduce_copies,      // of a chunk, between the two stages that hold it
    optimizer,          // gradient norm, clipping and the step, of all chunks or of the first one
    optimizer_of_rest,  // the step of the other chunks
};

// `item` is the pass for pass, receive and send. For the other tasks only its chunk is valid. Chunk
// and micro-batch are -1 if there is none.
struct StageWork {
    StageTask task = StageTask::pass;
    WorkItem item{};
    bool paired = false;           // for pass: its parts alternate with those of the next pass
    std::uint32_t first_wait = 0;  // index in StageWalk::waits
    std::uint32_t num_waits = 0;
};

struct StageWalk {
    std::vector<StageWork> work;
    // Positions in `work` that must end first, in addition to the producers of the operands.
    std::vector<std::uint32_t> waits;

    std::span<const std::uint32_t> waits_of(const StageWork& one) const {
        return std::span{waits}.subspan(one.first_wait, one.num_waits);
    }
};

struct StageRules {
    ScheduleKind schedule = ScheduleKind::one_f_one_b;
    bool overlap_p2p = false;
    bool overlap_grad_reduce = false;
    bool overlap_param_gather = false;
    bool overlap_param_gather_with_optimizer_step = false;
    bool tied_embeddings = false;
    // false: weight gradients are never deferred, because the stage has no layers.
    bool weight_passes = true;
    // A backward pass and the forward pass directly after it run together.
    bool pairs_passes = false;
};
StageRules rules_of(const ParallelPlan& plan, bool tied_embeddings);

// Whether the pass begins with a message from a neighbouring stage, or ends with one to it.
bool receives(const ScheduleShape& shape, std::int32_t stage, const WorkItem& item);
bool sends(const ScheduleShape& shape, std::int32_t stage, const WorkItem& item);

StageWalk stage_work(const StageRules& rules, const ScheduleShape& shape, std::int32_t stage);

}  // namespace orrery
