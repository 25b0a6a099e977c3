// SPDX-License-Identifier: Apache-2.0
// What a sweep found: as text with the fastest points first, as JSON, and as CSV (RFC 4180) with
// a column for each key that differs.
#pragma once

#include <string>
#include <vector>

#include "scenarios/sweep/sweep.h"

namespace orrery {

std::string sweep_report(const std::string& name, const SweepOutcome& outcome);
std::string sweep_json(const std::string& name, const SweepOutcome& outcome);
std::string sweep_csv(const std::vector<PointResult>& results);

}  // namespace orrery
