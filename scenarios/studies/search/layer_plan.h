// SPDX-License-Identifier: Apache-2.0
// A plan for each layer under a memory limit, of the choices that Galvatron (Miao et al., VLDB
// 2023, section 3) makes layer by layer the one that costs time for memory: of each virtual stage
// as few layers as possible run again in the backward pass, and the others keep their activations.
// Layers of a stage are alike, so how many decides, not which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct LayerPlan {
    std::int64_t layers = 0;       // of a virtual stage, the longest one
    std::int64_t recomputed = 0;   // of these, the fewest that fit
    std::vector<std::string> set;  // keys of the plan, as --set takes them
    Answer answer;                 // of the step
    Answer all_recomputed;         // of the step in which all layers run again
};

// Errors: a plan that does not fit even if all layers run again, or that a rule refuses.
Result<LayerPlan> plan_layers(const Scenario& scenario);

}  // namespace orrery
