// SPDX-License-Identifier: Apache-2.0
// What a user should know of a network that can be built, but not quite as it was asked for:
// oversubscription that cannot act, ratios that give no whole number of uplinks.
#pragma once

#include <string>
#include <vector>

#include "network/fabric/cluster_spec.h"

namespace orrery {

// Sentences; none if there is nothing to say or the cluster cannot be built.
std::vector<std::string> fabric_remarks(const ClusterSpec& cluster);

}  // namespace orrery
