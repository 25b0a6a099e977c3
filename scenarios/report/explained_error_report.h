// SPDX-License-Identifier: Apache-2.0
// Why one published case is predicted as it is (studies/validate/explained_error.h).
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/validate/explained_error.h"

namespace orrery {

Report explained_error_sections(const ExplainedError& explained);
std::string explained_error_json(const ExplainedError& explained);

}  // namespace orrery
