// SPDX-License-Identifier: Apache-2.0
// Pipeline stages with tensor-parallel sizes of their own (plan.stage_tensor_model_parallel_sizes):
// neighbouring stages of one size are a party of the Program (engine/program/program.h), with a
// mesh of their own. All parties have the same data-parallel and context-parallel ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "models/plan/layout_assignment.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The plan with the tensor-parallel size of this stage, as if all stages were like it.
ParallelPlan plan_of_stage(const ParallelPlan& plan, std::int64_t stage);

// Why stages can't have these sizes; empty if they can. What each size demands of the model is not
// among it (models/plan/validate_plan.h).
Errors check_stage_parties(const Transformer& model, const ParallelPlan& plan);

struct StageParty {
    std::int32_t first_stage = 0;
    std::int32_t num_stages = 1;
    LayoutAssignment layouts;

    bool holds(std::int32_t stage) const {
        return stage >= first_stage && stage < first_stage + num_stages;
    }
};

// By first stage; one where all stages are alike.
std::vector<StageParty> stage_parties(const Transformer& model, const ParallelPlan& plan);

std::int32_t num_stages(const std::vector<StageParty>& parties);

}  // namespace orrery
