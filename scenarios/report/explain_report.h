// SPDX-License-Identifier: Apache-2.0
// An explanation in words, and as JSON.
#pragma once

#include <string>

#include "scenarios/studies/explain/explain.h"

namespace orrery {

std::string explain_report(const Explanation& explanation);
std::string explain_json(const Explanation& explanation);

}  // namespace orrery
