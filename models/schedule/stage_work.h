// SPDX-License-Identifier: Apache-2.0
// What one stage does in a step, in order: the passes of its schedule, and around them the
// messages, the data-parallel work and the optimizer. The rules of this order are written here and
// nowhere else: the lowering makes slots of it (models/lowering/lowering.h), the search a folded
// step (scenarios/studies/search/stage_builder.h) and the passes in flight
// (scenarios/studies/search/plan_bound.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/schedule/schedule.h"

namespace orrery {

enum class StageTask : std::uint8_t {
    gather_parameters,  // of a chunk, from the shards that the optimizer updated
    receive,            // what a pass needs of a neighbouring stage
    restart,            // the host launches again: it waited for messages
    pass,
    send,               // what a pass made for a neighbouring stage
    reduce_gradients,   // of a chunk, over the data-parallel ranks
    reduce_tied,        // of the tied embedding, over the stages that hold a copy
    reduce_copies,      // of a chunk, over the two stages that have it
    optimizer,          // gradient norm, clipping and the step, of all chunks or of the first
    optimizer_of_rest,  // the step of all other chunks
};

// `item` is the pass of pass, receive and send; else only its chunk counts. Chunk and micro-batch
// are -1 where there is none.
struct StageWork {
    StageTask task = StageTask::pass;
    WorkItem item{};
    bool paired = false;           // of pass: its parts and those of the next pass take turns
    std::uint32_t first_wait = 0;  // StageWalk::waits
    std::uint32_t num_waits = 0;
};

struct StageWalk {
    std::vector<StageWork> work;
    // Positions in `work`: what has to be over first, beside whatever made its operands.
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
    // false: there are no weight gradients to make later (a stage without layers).
    bool weight_passes = true;
    // A backward pass and the forward pass behind it run together.
    bool pairs_passes = false;
};
StageRules rules_of(const ParallelPlan& plan, bool tied_embeddings);

// Whether the pass starts with a message of a neighbouring stage, and ends with one to it.
bool receives(const ScheduleShape& shape, std::int32_t stage, const WorkItem& item);
bool sends(const ScheduleShape& shape, std::int32_t stage, const WorkItem& item);

StageWalk stage_work(const StageRules& rules, const ScheduleShape& shape, std::int32_t stage);

}  // namespace orrery
