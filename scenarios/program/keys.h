// SPDX-License-Identifier: Apache-2.0
// `orrery keys`: the keys of a scenario with their values, defaults and meanings.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/read/scenario_keys.h"
#include "scenarios/program/views.h"

namespace orrery {

struct KeysArguments : ViewArguments {
    std::string name;     // "plan", "plan.micro_batch_size", "micro_batch_size", "mbs"; empty: all
    bool schema = false;  // of the kind of file `name`
};

int keys_command(const KeysArguments& arguments);

// The keys that match a word of the command line.
using Keys = std::vector<ScenarioKey>;

// Matches by path ("faults[].mtbf", "faults.mtbf"), else by the key's own name ("mtbf") or short
// name.
Keys keys_named(const Keys& all, const std::string& name);

// The keys in the map under a key.
Keys keys_below(const Keys& all, const ScenarioKey& map);

}  // namespace orrery
