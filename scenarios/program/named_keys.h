// SPDX-License-Identifier: Apache-2.0
// The keys that a word of the command line means.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/read/scenario_keys.h"

namespace orrery {

using Keys = std::vector<ScenarioKey>;

// By its path ("faults[].mtbf", "faults.mtbf"), else by its own name ("mtbf") or short name.
Keys keys_named(const Keys& all, const std::string& name);

// Those of the map under a key.
Keys keys_below(const Keys& all, const ScenarioKey& map);

}  // namespace orrery
