// SPDX-License-Identifier: Apache-2.0
// Published single operations beside predicted ones, and the errors of each family: sections, and
// one JSON object (docs/schema/validate_operations.schema.json).
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/validate/timed_rows.h"

namespace orrery {

Report timed_sections(const TimedValidation& validation);
std::string json_report(const TimedValidation& validation);

}  // namespace orrery
