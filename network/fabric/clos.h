// SPDX-License-Identifier: Apache-2.0
// Leaf-spine and three-tier Clos fabrics of RoCE clusters. Multi-rail: NIC i of each server
// connects to ToR i of its leaf set. Two tiers: all ToRs connect to the spines. Three tiers: the
// ToRs of `leaf_sets_per_pod` sets connect to the pod's aggregation switches, and aggregation
// switch k of each pod to the cores of plane k. Number of uplinks = downlink bandwidth /
// oversubscription / uplink bandwidth, with one (or `uplink_cables`) to each switch above.
// MegaScale (NSDI'24) splits each 400 Gb/s ToR port into two for its 200 Gb/s NICs, with 64 servers
// per set, eight ToRs and 32 uplinks per ToR.
#pragma once

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

Result<SwitchTree> clos_tree(const ClusterSpec& spec);

// One switch for all NICs: a Clos fabric with a single leaf.
Result<SwitchTree> single_switch_tree(const ClusterSpec& spec);

}  // namespace orrery
