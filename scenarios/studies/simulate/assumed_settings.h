// SPDX-License-Identifier: Apache-2.0
// Settings that shape a step but are not in the scenario. A report names the assumed values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/format/specs/scenario.h"

namespace orrery {

// Keys and values, "plan.precision" and "bf16", in the order of the tables of keys. Empty for a
// scenario without a document.
std::vector<std::pair<std::string, std::string>> assumed_settings(const Scenario& scenario);

}  // namespace orrery
