// SPDX-License-Identifier: Apache-2.0
// Published single operations beside predicted ones, and the errors of each family: text, and one
// JSON object (times in microseconds).
#pragma once

#include <string>

#include "scenarios/studies/validate/timed_rows.h"

namespace orrery {

std::string timed_report(const TimedValidation& validation);
std::string json_report(const TimedValidation& validation);

}  // namespace orrery
