// SPDX-License-Identifier: Apache-2.0
// The description of a recorded run as JSON (studies/measure/recorded_run.h).
#pragma once

#include <string>

#include "scenarios/format/provenance/provenance.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {

std::string recording_json(const RunDescription& run, const Provenance& provenance);

}  // namespace orrery
