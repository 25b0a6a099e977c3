// SPDX-License-Identifier: Apache-2.0
// What of a cluster can fail, and which nodes share a fate: the counts that faults refer to.
#pragma once

#include "engine/faults/component.h"
#include "network/cluster_spec.h"
#include "scenarios/campaign/campaign_plan.h"

namespace orrery {

// The plan's domains (racks, power feeds, pods) with the cluster's nodes, GPUs, NICs and switches.
ClusterShape cluster_shape(const ClusterSpec& cluster, const CampaignPlan& campaign);

}  // namespace orrery
