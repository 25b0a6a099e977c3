// SPDX-License-Identifier: Apache-2.0
// Rail-optimised fabrics (NVIDIA DGX SuperPOD): NIC i of every server of a leaf set (there called a
// scalable unit) is on rail leaf i, so traffic between equal local indices crosses one switch. Two
// tiers: all rail leaves meet at the spines. Three tiers: the rail leaves i of a pod meet at the
// spine group of rail i, and the cores join all groups: changing the rail costs two more hops,
// which is what NCCL's PXN avoids.
#pragma once

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

Result<SwitchTree> rail_tree(const ClusterSpec& spec);

}  // namespace orrery
