// SPDX-License-Identifier: Apache-2.0
// A percentile over groups of values that all weigh the same.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace orrery {

// The value below which this share of all values lies, every group weighing the same however many
// values it has: a percentile between groups, not within the largest. 0 without values.
double balanced_percentile(const std::map<std::string, std::vector<double>>& groups, double share);

}  // namespace orrery
