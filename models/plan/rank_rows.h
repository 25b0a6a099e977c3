// SPDX-License-Identifier: Apache-2.0
// What one rank's own rows of tokens take in memory. A Program has those of a rank that is the
// busiest of every layer.
#pragma once

#include <span>
#include <vector>

#include "engine/program/program.h"
#include "engine/program/step_load.h"
#include "models/plan/routed_tensor.h"

namespace orrery {

// The rank of each role whose experts have most rows to keep: the largest micro-batches of its
// layers, added up.
std::vector<RankId> fullest_ranks(const Program& program, const StepLoad& load);

// The program with tensors as large as these ranks, one of each role, need them for the largest of
// their micro-batches.
Program with_rows_of(const Program& program,
                     std::span<const RoutedTensor> routed,
                     const StepLoad& load,
                     std::span<const RankId> ranks);

}  // namespace orrery
