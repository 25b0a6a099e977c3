// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/trace/run_trace.h"

#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/studies/measure/predicted_run.h"

namespace orrery {

Result<void> write_run_trace(const std::string& file,
                             const RecordedRun& run,
                             const std::string& profile_file) {
    const Result<PredictedRun> predicted = predict_run(run.scenario, profile_file);
    if (!predicted) {
        return unexpected<Error>(predicted.error());
    }
    const auto best = best_steps(run.steps);
    const MeasuredStep& step = *best[best.size() / 2];
    return write_perfetto_traces(
        file, run.program, {{"predicted", predicted->ops}, {"measured", step.ops}});
}

}  // namespace orrery
