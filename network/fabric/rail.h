// SPDX-License-Identifier: Apache-2.0
// Rail-optimised fabrics (NVIDIA DGX SuperPOD). NIC i of every server of a leaf set (there called a
// scalable unit) is on rail leaf i, so that traffic between equal local indices crosses one switch.
// Two tiers: all rail leaves connect to the spines. Three tiers: rail leaf i of all sets of a pod
// connects to the spine group of rail i, and the cores connect all groups. Changing the rail then
// costs two more hops, which NCCL's PXN avoids.
#pragma once

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

Result<SwitchTree> rail_tree(const ClusterSpec& spec);

}  // namespace orrery
