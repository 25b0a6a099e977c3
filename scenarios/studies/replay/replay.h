// SPDX-License-Identifier: Apache-2.0
// Runs a step that another tool described on the cluster and the network of a scenario.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/replay/foreign_step.h"

namespace orrery {

struct ReplayAnswer {
    std::int64_t ranks = 0;
    std::int64_t ops = 0;
    Time step;
    Time compute;  // of the critical path
    Time collectives;
    Time messages;
    Time contention;
    RankId slowest{};
    Time compute_mean;  // of a rank, on the critical path or not
    std::int64_t flows = 0;
};

// The scenario's cluster may have more GPUs than the step has ranks: rank r runs on GPU r.
ResultOrErrors<ReplayAnswer> replay(const ForeignStep& step, const Scenario& scenario);

}  // namespace orrery
