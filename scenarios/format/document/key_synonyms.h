// SPDX-License-Identifier: Apache-2.0
// Other programs' names of scenario keys: flags of Megatron-LM, abbreviations of papers, arguments
// of Hugging Face, DeepSpeed and torchtitan. Used only for hints at unknown keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// "plan.data_parallel_sharding_strategy: optim", or a sentence if no key expresses it. Empty for an
// unknown word.
std::string key_called(std::string_view word);

// Paths of a scenario's maps that have a key of this name: "plan", "recovery.policies[].spares"; ""
// is the file itself. Defined in read/scenario_keys.cpp, beside the tables.
std::vector<std::string> maps_with_key(std::string_view name);

}  // namespace orrery
