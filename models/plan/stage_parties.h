// SPDX-License-Identifier: Apache-2.0
// Pipeline stages with tensor-parallel sizes of their own (plan.stage_tensor_model_parallel_sizes).
// Neighbouring stages of equal size are a party of the Program (engine/program/program.h), with a
// mesh of their own. All parties have the same data-parallel and context-parallel sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "models/plan/layout_assignment.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The plan if all stages had the tensor-parallel size of this stage.
ParallelPlan plan_of_stage(const ParallelPlan& plan, std::int64_t stage);

// The reasons that prevent these sizes; empty if they are possible. models/plan/validate_plan.h
// checks the demands of each size on the model.
Errors check_stage_parties(const Transformer& model, const ParallelPlan& plan);

struct StageParty {
    std::int32_t first_stage = 0;
    std::int32_t num_stages = 1;
    LayoutAssignment layouts;

    bool holds(std::int32_t stage) const {
        return stage >= first_stage && stage < first_stage + num_stages;
    }
};

// By first stage. There is one party if all stages have the same size.
std::vector<StageParty> stage_parties(const Transformer& model, const ParallelPlan& plan);

std::int32_t num_stages(const std::vector<StageParty>& parties);

}  // namespace orrery
