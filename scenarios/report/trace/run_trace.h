// SPDX-License-Identifier: Apache-2.0
// Picture of a recorded run for Perfetto: for every rank a process with the measured step and above
// it one with the predicted step, with equal tracks and names (perfetto_trace.h). Both begin at
// zero. The measured step is the one with the median duration among the best steps.
#pragma once

#include <string>

#include "engine/base/result.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {

// `profile_file` has measured times for the prediction; empty: none.
Result<void> write_run_trace(const std::string& file,
                             const RecordedRun& run,
                             const std::string& profile_file);

}  // namespace orrery
