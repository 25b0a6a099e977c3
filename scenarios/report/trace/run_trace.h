// SPDX-License-Identifier: Apache-2.0
// The picture of a recorded run for Perfetto: of every rank a process with the measured step and
// above it one with the predicted step, with the same tracks and names (perfetto_trace.h). Both
// begin at zero. The measured step is the one of median duration among the best.
#pragma once

#include <string>

#include "engine/base/result.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {

// `profile_file`: measured times that the prediction uses; empty: none.
Result<void> write_run_trace(const std::string& file,
                             const RecordedRun& run,
                             const std::string& profile_file);

}  // namespace orrery
