// SPDX-License-Identifier: Apache-2.0
// The software that runs a job (Scenario::software, "nemo-24.05"), and the software on which it is
// built.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

// The software of a stack without its version, in lower case: "nemo-24.05" and "NeMo24.07" are
// "nemo".
std::string software_of(std::string_view stack);

// The software whose training loop a stack runs: "megatron-lm" for "nemo-24.05", "megascale-1" and
// "megatron-core-r0.8". Unknown software is its own lineage.
std::string lineage_of(std::string_view stack);

}  // namespace orrery
