// SPDX-License-Identifier: Apache-2.0
// Layers of each pipeline stage of a published row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// Sets the layers that the row lists, else those of its software. With "uneven_pipeline_stages" the
// remainder goes to the first stages. `words` are the row's features.
void set_pipeline_layout(const PublishedCase& row,
                         const std::vector<std::string>& words,
                         ParallelPlan& plan);

// nanotron's split (models/base.py, build_model): a stage ends after the block with which the sum
// of costs, the output layer's included, exceeds the stage's share. Empty if a stage gets no layer.
std::vector<std::int64_t> layers_by_cost(const Transformer& model, std::int64_t stages);

}  // namespace orrery
