// SPDX-License-Identifier: Apache-2.0
// Checks that a cluster can be built. An error names the impossible number and a possible one; its
// place is the dotted name of the scenario's key ("cluster.fabric.oversubscription").
#pragma once

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

// The switches of the cluster, after the same checks.
Result<SwitchTree> checked_tree(const ClusterSpec& spec);
Result<void> check_cluster(const ClusterSpec& spec);

}  // namespace orrery
