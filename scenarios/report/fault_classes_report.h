// SPDX-License-Identifier: Apache-2.0
// Classes of faults with their numbers of components and their rates: a table for console, page and
// JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/campaign/fault_classes.h"

namespace orrery {

// `of` is the time for which faults are expected ("30.0 d").
ReportSection fault_classes_section(const std::vector<FaultClass>& classes, const std::string& of);
// A JSON list.
std::string fault_classes_json(const std::vector<FaultClass>& classes);

}  // namespace orrery
