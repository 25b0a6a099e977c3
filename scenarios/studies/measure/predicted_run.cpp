// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/predicted_run.h"

#include <algorithm>

#include "engine/world/traced_ops.h"
#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {

std::span<const TracedOp> PredictedRun::of_rank(RankId rank) const {
    return ops_of_rank(ops, rank);
}

Result<PredictedRun> predict_run(const Scenario& trained, const std::string& profile_file) {
    Scenario scenario = on_own_runtime(trained);
    scenario.faults = {};  // training injected none
    PredictedRun run;
    SimulationOptions options;
    options.profile_file = profile_file;
    options.inspect = [&](const SimulationResult& result, Time host_per_op) {
        run.host_per_op = host_per_op;
        std::uint32_t last = 0;
        for (const TracedOp& op : result.trace) {
            last = std::max(last, op.step);
        }
        for (const TracedOp& op : result.trace) {
            if (op.step == last) {
                run.ops.push_back(op);
            }
        }
    };
    auto answer = simulate_scenario(scenario, options);
    if (!answer) {
        return unexpected<Error>(answer.error());
    }
    run.answer = std::move(*answer);
    const Program program = lower(scenario.model, scenario.plan);
    run.tensor_memory = largest_plan(program);
    Time begin = Time::max();
    for (const TracedOp& op : run.ops) {
        begin = std::min(begin, op.start);
    }
    for (TracedOp& op : run.ops) {
        op.step = 0;
        op.start -= begin;
        op.data_start -= begin;
        op.end -= begin;
    }
    return run;
}

}  // namespace orrery
