// SPDX-License-Identifier: Apache-2.0
// The components of a cluster that can fail, and the groups of nodes that fail together. Faults
// refer to these counts.
#pragma once

#include "engine/faults/component.h"
#include "network/fabric/cluster_spec.h"
#include "scenarios/format/specs/campaign_plan.h"

namespace orrery {

// The plan's domains (racks, power feeds, pods) with the cluster's nodes, GPUs, NICs and switches.
// If nodes are NVLink domains of several trays, each tray counts as a node, because it fails alone.
// A domain is then a rack unless the plan gives another size. Trays of the last domain that the job
// does not use do not count, because their faults do not affect it.
ClusterShape cluster_shape(const ClusterSpec& cluster, const CampaignPlan& campaign);

}  // namespace orrery
