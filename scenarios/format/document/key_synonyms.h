// SPDX-License-Identifier: Apache-2.0
// What other programs call the keys of a scenario: flags of Megatron-LM, abbreviations of papers,
// arguments of Hugging Face, DeepSpeed and torchtitan. For hints at unknown keys only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// "plan.data_parallel_sharding_strategy: optim", or a sentence where no key says it; empty if the
// word is not known.
std::string key_called(std::string_view word);

// Paths of a scenario's maps that have a key of this name: "plan", "recovery.policies[].spares";
// "" is the file itself. Defined where the tables are, in read/scenario_keys.cpp.
std::vector<std::string> maps_with_key(std::string_view name);

}  // namespace orrery
