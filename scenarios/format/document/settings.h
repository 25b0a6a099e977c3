// SPDX-License-Identifier: Apache-2.0
// Maps of keys that change a scenario, as --set writes them: {plan.micro_batch_size: 2}. Part of
// sweeps and reproductions.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

using Settings = std::vector<std::pair<std::string, std::string>>;  // key, value as in --set
using SettingPlaces = std::map<std::string, std::string>;  // file:line:column by "key=value"

// "key=value".
std::string assignment(const std::string& key, const std::string& value);
// In the form of ReadOptions::overrides.
std::vector<std::string> overrides_of(const Settings& settings);

// Adds the keys of a map to `settings`, and their places to `places`. `path` is the name of the
// map's own key. A value other than a map is an error.
void read_settings(const DocumentNode& node,
                   const std::string& path,
                   Settings& settings,
                   SettingPlaces& places,
                   Errors& errors);

// The error with the file's place in the place of "--set KEY".
Error placed_in_file(Error error,
                     const std::vector<std::string>& overrides,
                     const SettingPlaces& places);

}  // namespace orrery
