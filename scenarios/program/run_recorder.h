// SPDX-License-Identifier: Apache-2.0
// What `orrery train --record` and `--trace` do on every rank: writes down what the rank did, and
// at the end the files (scenarios/studies/measure/recorded_run.h), and on rank 0 the picture of the
// whole run.
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
    const Scenario* scenario = nullptr;  // that is run; outlives the recorder
    std::string profile_file;            // that the prediction in the trace uses; empty: none
};

class RunRecorder {
public:
    // Null if nothing is wanted.
    static Result<std::unique_ptr<RunRecorder>> start(const RecordOptions& options,
                                                      const ProcessWorld& world,
                                                      Executor& executor);
    // All ranks together.
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
