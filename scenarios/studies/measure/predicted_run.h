// SPDX-License-Identifier: Apache-2.0
// The simulator's timeline of a scenario, rank by rank, in the form that a recorded run has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/world/simulation.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct PredictedRun {
    Answer answer;
    std::vector<TracedOp> ops;  // of the last step, by (rank, start); counted from its begin
    Time host_per_op;     // that an op's time holds (scenarios/studies/simulate/program_order.h)
    Bytes tensor_memory;  // at the peak, of the rank that has most; no library's workspace
    std::span<const TracedOp> of_rank(RankId rank) const;
};

Result<PredictedRun> predict_run(const Scenario& scenario, const std::string& profile_file);

}  // namespace orrery
