// SPDX-License-Identifier: Apache-2.0
// What a scenario or a table of measured steps calls the software that runs a job
// (Scenario::software, "nemo-24.05"), and what that software is built on.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

// The software of a stack without its version, in lower case: "nemo-24.05" and "NeMo24.07" are
// "nemo".
std::string software_of(std::string_view stack);

// The software whose training loop a stack runs: "nemo-24.05", "megascale-1" and
// "megatron-core-r0.8" come from "megatron-lm". Software that is not known stands for itself.
std::string lineage_of(std::string_view stack);

}  // namespace orrery
