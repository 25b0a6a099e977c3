// SPDX-License-Identifier: Apache-2.0
// A plan for each layer under a memory limit. Of the layer-wise choices of Galvatron (Miao et al.,
// VLDB 2023, section 3), it has the one that trades time for memory: in each virtual stage as few
// layers as possible run again in the backward pass, and the others keep their activations. Layers
// of a stage are equal, so that only their number matters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct LayerPlan {
    std::int64_t layers = 0;       // in the largest virtual stage
    std::int64_t recomputed = 0;   // the smallest number of them that fits
    std::vector<std::string> set;  // keys of the plan, in the form of --set
    Answer answer;                 // of the step
    Answer all_recomputed;         // of the step in which all layers run again
};

// Errors: the plan does not fit even if all layers run again, or a rule refuses it.
Result<LayerPlan> plan_layers(const Scenario& scenario);

}  // namespace orrery
