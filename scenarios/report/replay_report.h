// SPDX-License-Identifier: Apache-2.0
// A replayed step as a report and as JSON.
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/replay/replay.h"

namespace orrery {

Report replay_sections(const std::string& name, const ReplayAnswer& answer);
std::string replay_json(const std::string& name, const ReplayAnswer& answer);

}  // namespace orrery
