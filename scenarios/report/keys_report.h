// SPDX-License-Identifier: Apache-2.0
// Keys of a scenario (format/read/scenario_keys.h) as text, a report or JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/read/scenario_keys.h"
#include "scenarios/report/report.h"

namespace orrery {

// Of each key a line with its default and its values, and its meaning below.
std::string keys_report(const std::vector<ScenarioKey>& keys);
// All that is known of one key.
std::string key_page(const ScenarioKey& key);
// A table of the same.
Report keys_sections(const std::vector<ScenarioKey>& keys);
std::string keys_json(const std::vector<ScenarioKey>& keys);

}  // namespace orrery
