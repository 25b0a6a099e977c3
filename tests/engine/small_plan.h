// SPDX-License-Identifier: Apache-2.0
// The plan of an execution of four ranks: two stages of two that meet in a collective, and the
// first stage sends to the second.
#pragma once

#include "engine/world/execution_plan.h"
#include "tests/engine/small_runs.h"

namespace orrery::small_runs {

class SmallPlan {
public:
    explicit SmallPlan(bool folding = false)
        : builder_({{"tp", 2}, {"pp", 2}}), network_({kBytePerNanosecond}) {
        const GroupId tp = builder_.group("tp", 1);
        for (std::uint32_t stage = 0; stage < 2; ++stage) {
            builder_.role(stage).kernel(5_ns);
            builder_.collective(tp, 100_B);
            builder_.collective(tp, 100_B);
            builder_.exchange({{stage == 0, 1, stage == 0 ? 1 : -1, -1, 20_B, 0}}, kOther);
        }
        network_.collective = plan_over({0}, 100_B, 30_ns);
        network_.sends[{RankId{0}, RankId{2}}] = plan_over({0}, {});
        network_.sends[{RankId{1}, RankId{3}}] = plan_over({0}, {});
        input = builder_.input(network_);
        input.traced_ranks.clear();
        input.accelerations.fold(folding);
        rates.emplace(network_.links());
        plan.emplace(input, *rates);
    }

private:
    ProgramBuilder builder_;
    ScriptedNetwork network_;

public:
    SimulationInput input;
    std::optional<NaiveRates> rates;
    std::optional<ExecutionPlan> plan;
};

}  // namespace orrery::small_runs
