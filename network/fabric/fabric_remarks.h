// SPDX-License-Identifier: Apache-2.0
// Remarks on a network that can be built, but not exactly as requested: oversubscription without
// effect, or ratios without a whole number of uplinks.
#pragma once

#include <string>
#include <vector>

#include "network/fabric/cluster_spec.h"

namespace orrery {

// One sentence each; empty if there is nothing to remark or the cluster cannot be built.
std::vector<std::string> fabric_remarks(const ClusterSpec& cluster);

}  // namespace orrery
