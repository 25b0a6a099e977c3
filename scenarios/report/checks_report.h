// SPDX-License-Identifier: Apache-2.0
// The results of `orrery diagnose` as reports and JSON.
#pragma once

#include <string>
#include <vector>

#include "runtime/measure/node_checks.h"
#include "scenarios/report/render/report.h"
#include "scenarios/studies/diagnose/heat_map.h"
#include "scenarios/studies/diagnose/modelled_checks.h"

namespace orrery {

// The pre-flight checks on a modelled cluster (studies/diagnose/modelled_checks.h).
Report checks_sections(const ModelledChecks& checks);
std::string checks_json(const ModelledChecks& checks);

// A heat map of ranks (studies/diagnose/heat_map.h).
std::string heat_map_json(const HeatMap& map);
Report heat_map_sections(const HeatMap& map);

// The pre-flight checks between real processes (runtime/measure/node_checks.h).
Report node_checks_sections(const NodeChecks& checks, const std::vector<Suspect>& suspects);
std::string node_checks_json(const NodeChecks& checks, const std::vector<Suspect>& suspects);

}  // namespace orrery
