// SPDX-License-Identifier: Apache-2.0
// A percentile over groups of values with equal weights.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace orrery {

// The least value at or below which the fraction `share` of the total weight lies. Every group has
// the same weight, however many values it has. 0 without values.
double balanced_percentile(const std::map<std::string, std::vector<double>>& groups, double share);

}  // namespace orrery
