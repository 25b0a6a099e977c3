// SPDX-License-Identifier: Apache-2.0
// A replayed step as text and as JSON.
#pragma once

#include <string>

#include "scenarios/studies/replay/replay.h"

namespace orrery {

std::string replay_report(const std::string& name, const ReplayAnswer& answer);
std::string replay_json(const std::string& name, const ReplayAnswer& answer);

}  // namespace orrery
