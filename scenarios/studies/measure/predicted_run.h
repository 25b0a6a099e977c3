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
    // Of the last step, by (rank, start); times from the step's beginning
    std::vector<TracedOp> ops;
    // Host time included in an op's time (scenarios/studies/simulate/program_order.h)
    Time host_per_op;
    Bytes tensor_memory;  // the peak of the rank with most, without library workspaces
    std::span<const TracedOp> of_rank(RankId rank) const;
};

Result<PredictedRun> predict_run(const Scenario& scenario, const std::string& profile_file);

}  // namespace orrery
