// SPDX-License-Identifier: Apache-2.0
// The common base of the parts of an execution (engine/world/execution.h): references to the plan,
// the clock, the shared state of ranks and transfers, and the other parts.
#pragma once

#include "engine/world/execution_plan.h"
#include "engine/world/open_transfers.h"
#include "engine/world/rank_states.h"
#include "engine/world/simulation_clock.h"
#include "engine/world/step_log.h"

namespace orrery {

struct Execution;

class ExecutionPart {
public:
    explicit ExecutionPart(Execution& execution);
    ExecutionPart(const ExecutionPart&) = delete;
    ExecutionPart& operator=(const ExecutionPart&) = delete;

protected:
    ~ExecutionPart() = default;

    Execution& parts_;
    const ExecutionPlan& plan_;
    SimulationClock& clock_;
    RankStates& state_;
    OpenTransfers& open_;
    StepLog& log_;
};

}  // namespace orrery
