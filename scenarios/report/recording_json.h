// SPDX-License-Identifier: Apache-2.0
// The description of a recorded run as JSON, and its file (studies/measure/recorded_run.h).
#pragma once

#include <filesystem>
#include <string>

#include "scenarios/format/provenance/provenance.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {

std::string recording_json(const RunDescription& run, const Provenance& provenance);
// Must be called after all ranks have written their recordings.
Result<void> write_run_description(const std::filesystem::path& folder,
                                   const Scenario& scenario,
                                   const RunDescription& run);

}  // namespace orrery
