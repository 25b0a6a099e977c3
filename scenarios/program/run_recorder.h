// SPDX-License-Identifier: Apache-2.0
// `orrery train --record` and `--trace` on each rank: records the rank's ops, and at the end writes
// the files (scenarios/studies/measure/recorded_run.h). Rank 0 also writes the picture of the whole
// run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/measure/step_recorder.h"
#include "runtime/world.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

class Executor;

struct RecordOptions {
    std::filesystem::path folder;        // of the recording; empty: not kept
    std::filesystem::path trace_file;    // empty: none
    const Scenario* scenario = nullptr;  // the scenario of the run; must outlive the recorder
    std::string profile_file;            // profile for the prediction in the trace; empty: none
};

class RunRecorder {
public:
    // Null if neither a recording nor a trace is asked for.
    static Result<std::unique_ptr<RunRecorder>> start(const RecordOptions& options,
                                                      const ProcessWorld& world,
                                                      Executor& executor);
    // All ranks must call it together.
    ResultOrErrors<void> finish();

private:
    RunRecorder(RecordOptions options, const ProcessWorld& world, Executor& executor);
    std::filesystem::path folder() const;
    std::string words_of_machine() const;

    RecordOptions options_;
    const ProcessWorld& world_;
    Executor& executor_;
    StepRecorder recorder_;
};

}  // namespace orrery
