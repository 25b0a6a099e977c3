// SPDX-License-Identifier: Apache-2.0
// Published collectives beside predicted ones, and the errors of each family.
#pragma once

#include "scenarios/report/report.h"
#include "scenarios/studies/validate/collective_cases.h"

namespace orrery {

Report collective_sections(const CollectiveValidation& validation);

}  // namespace orrery
