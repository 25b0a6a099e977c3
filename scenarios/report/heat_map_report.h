// SPDX-License-Identifier: Apache-2.0
// A heat map of ranks (scenarios/studies/diagnose/heat_map.h) as a report and JSON.
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/diagnose/heat_map.h"

namespace orrery {

std::string heat_map_json(const HeatMap& map);
Report heat_map_sections(const HeatMap& map);

}  // namespace orrery
