// SPDX-License-Identifier: Apache-2.0
// What the pre-flight checks between real processes found (runtime/measure/node_checks.h).
#pragma once

#include <string>
#include <vector>

#include "runtime/measure/node_checks.h"
#include "scenarios/report/report.h"

namespace orrery {

Report node_checks_sections(const NodeChecks& checks, const std::vector<Suspect>& suspects);
std::string node_checks_json(const NodeChecks& checks, const std::vector<Suspect>& suspects);

}  // namespace orrery
