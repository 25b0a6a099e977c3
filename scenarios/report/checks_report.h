// SPDX-License-Identifier: Apache-2.0
// What the pre-flight checks on a modelled cluster found (studies/diagnose/modelled_checks.h).
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/diagnose/modelled_checks.h"

namespace orrery {

Report checks_sections(const ModelledChecks& checks);
std::string checks_json(const ModelledChecks& checks);

}  // namespace orrery
