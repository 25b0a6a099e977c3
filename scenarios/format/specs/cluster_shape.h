// SPDX-License-Identifier: Apache-2.0
// What of a cluster can fail, and which nodes share a fate: the counts that faults refer to.
#pragma once

#include "engine/faults/component.h"
#include "network/fabric/cluster_spec.h"
#include "scenarios/format/specs/campaign_plan.h"

namespace orrery {

// The plan's domains (racks, power feeds, pods) with the cluster's nodes, GPUs, NICs and switches.
// Of nodes that are NVLink domains of several trays, the trays count as nodes, for they fail alone,
// and an NVLink domain is a rack unless the plan says otherwise. Trays of the last domain that the
// job leaves out do not count: what happens to them does not concern it.
ClusterShape cluster_shape(const ClusterSpec& cluster, const CampaignPlan& campaign);

}  // namespace orrery
