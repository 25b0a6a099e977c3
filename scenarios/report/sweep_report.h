// SPDX-License-Identifier: Apache-2.0
// What a sweep found: as JSON, and as CSV (RFC 4180) with a column for each key that differs.
#pragma once

#include <string>
#include <vector>

#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

std::string sweep_json(const std::string& name, const SweepOutcome& outcome);
// The keys that points set, in the order of their appearance, and how a table calls one.
std::vector<std::string> swept_keys(const std::vector<PointResult>& results);
std::string short_key(const std::string& key);
// What a point sets a key to; empty: nothing.
std::string value_of(const PointResult& point, const std::string& key);
std::string sweep_csv(const std::vector<PointResult>& results);

}  // namespace orrery
