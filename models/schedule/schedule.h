// SPDX-License-Identifier: Apache-2.0
// A pipeline schedule is a pure function: the order in which one stage works on (pass, chunk,
// micro-batch). Communication is not part of it: the lowering derives receives and sends from who
// computes the neighbouring chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program.h"
#include "models/plan.h"

namespace orrery {

struct ScheduleShape {
    std::int32_t stages = 1;
    std::int32_t chunks = 1;  // model chunks a stage; chunk c of stage s is virtual c*stages+s
    std::int32_t micro_batches = 1;
    bool operator==(const ScheduleShape&) const = default;
};

// pass is forward, backward (both gradients), backward_input or backward_weight.
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
StageOrder interleaved_1f1b(const ScheduleShape& shape, std::int32_t stage);
StageOrder breadth_first(const ScheduleShape& shape, std::int32_t stage);
StageOrder zero_bubble(const ScheduleShape& shape, std::int32_t stage);

StageOrder stage_order(ScheduleKind kind, const ScheduleShape& shape, std::int32_t stage);

}  // namespace orrery
