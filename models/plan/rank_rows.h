// SPDX-License-Identifier: Apache-2.0
// The memory for the rows of tokens of one particular rank. A Program has the rows of a rank that
// is the busiest in every layer.
#pragma once

#include <span>
#include <vector>

#include "engine/program/program.h"
#include "engine/program/step_load.h"
#include "models/plan/routed_tensor.h"

namespace orrery {

// For each role the rank whose experts keep the most rows: the sum over its layers of the largest
// micro-batch.
std::vector<RankId> fullest_ranks(const Program& program, const StepLoad& load);

// The Program with smaller tensors: `ranks`, one of each role, need them for their largest
// micro-batch.
Program with_rows_of(const Program& program,
                     std::span<const RoutedTensor> routed,
                     const StepLoad& load,
                     std::span<const RankId> ranks);

}  // namespace orrery
