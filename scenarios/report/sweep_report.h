// SPDX-License-Identifier: Apache-2.0
// Results of a sweep as JSON, and as CSV (RFC 4180) with a column per varied key.
#pragma once

#include <string>
#include <vector>

#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

std::string sweep_json(const std::string& name, const SweepOutcome& outcome);
// The keys that points set, in the order of their first use. short_key() is the name in tables.
std::vector<std::string> swept_keys(const std::vector<PointResult>& results);
std::string short_key(const std::string& key);
// The value of a key in a point; empty if the point does not set it.
std::string value_of(const PointResult& point, const std::string& key);
std::string sweep_csv(const std::vector<PointResult>& results);

}  // namespace orrery
