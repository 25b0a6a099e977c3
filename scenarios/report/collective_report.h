// SPDX-License-Identifier: Apache-2.0
// Published collectives beside predicted ones, and the errors of each family.
#pragma once

#include <string>

#include "scenarios/studies/validate/collective_cases.h"

namespace orrery {

std::string collective_report(const CollectiveValidation& validation);

}  // namespace orrery
