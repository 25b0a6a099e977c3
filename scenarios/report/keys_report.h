// SPDX-License-Identifier: Apache-2.0
// Keys of a scenario (format/read/scenario_keys.h) as text or JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/read/scenario_keys.h"

namespace orrery {

// Of each key a line with its default and its values, and its meaning below.
std::string keys_report(const std::vector<ScenarioKey>& keys);
// All that is known of one key.
std::string key_page(const ScenarioKey& key);
std::string keys_json(const std::vector<ScenarioKey>& keys);

}  // namespace orrery
