// SPDX-License-Identifier: Apache-2.0
// Predicted steps beside published ones, and the errors of each family.
#pragma once

#include "scenarios/report/report.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

Report validation_sections(const Validation& validation);

}  // namespace orrery
