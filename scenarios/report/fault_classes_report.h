// SPDX-License-Identifier: Apache-2.0
// What can fail, how many there are of it and how often: a table for console, page and JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/campaign/fault_classes.h"

namespace orrery {

// What is expected is so in `of` ("30.0 d").
ReportSection fault_classes_section(const std::vector<FaultClass>& classes, const std::string& of);
// A list.
std::string fault_classes_json(const std::vector<FaultClass>& classes);

}  // namespace orrery
