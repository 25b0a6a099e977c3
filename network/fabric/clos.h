// SPDX-License-Identifier: Apache-2.0
// Leaf-spine and three-tier Clos fabrics of RoCE clusters. Multi-rail: NIC i of each server goes to
// ToR i of its leaf set. Two tiers: all ToRs meet at the spines. Three tiers: the ToRs of
// `leaf_sets_per_pod` sets meet at the pod's aggregation switches, aggregation switch k of each pod
// at the cores of plane k. Uplinks = downlink bandwidth / oversubscription / uplink bandwidth, one
// (or `uplink_cables`) to each switch above: MegaScale (NSDI'24) splits each 400 Gb/s ToR port into
// two for its 200 Gb/s NICs, 64 servers a set, eight ToRs, 32 uplinks each.
#pragma once

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

Result<SwitchTree> clos_tree(const ClusterSpec& spec);

// One switch for all NICs: a Clos fabric without anything above its only leaf.
Result<SwitchTree> single_switch_tree(const ClusterSpec& spec);

}  // namespace orrery
