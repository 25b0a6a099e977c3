// SPDX-License-Identifier: Apache-2.0
// Predicted memory beside what became of published configurations, for people and as JSON.
#pragma once

#include <string>

#include "scenarios/studies/validate/memory_cases.h"

namespace orrery {

std::string memory_report(const MemoryValidation& validation);
std::string json_report(const MemoryValidation& validation);

}  // namespace orrery
