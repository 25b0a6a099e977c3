// SPDX-License-Identifier: Apache-2.0
// The description of a recorded run as JSON (measure/recorded_run.h).
#pragma once

#include <string>

#include "scenarios/measure/recorded_run.h"
#include "scenarios/provenance/provenance.h"

namespace orrery {

std::string recording_json(const RunDescription& run, const Provenance& provenance);

}  // namespace orrery
