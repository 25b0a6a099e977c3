// SPDX-License-Identifier: Apache-2.0
// The layers of each pipeline stage of a published row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// As the row lists them, else as its software splits them; else, with "uneven_pipeline_stages",
// what does not divide goes to the first stages. `words`: the row's features.
void set_pipeline_layout(const PublishedCase& row,
                         const std::vector<std::string>& words,
                         ParallelPlan& plan);

// nanotron's split (models/base.py, build_model): a stage ends behind the block with which the sum
// of costs, the output layer's included, goes beyond the stage's share. Empty if a stage gets
// nothing.
std::vector<std::int64_t> layers_by_cost(const Transformer& model, std::int64_t stages);

}  // namespace orrery
