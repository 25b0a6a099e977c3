// SPDX-License-Identifier: Apache-2.0
#include "scenarios/campaign/cluster_shape.h"

#include <algorithm>

#include "network/switch_counts.h"

namespace orrery {

ClusterShape cluster_shape(const ClusterSpec& cluster, const CampaignPlan& campaign) {
    const SwitchCounts switches = count_switches(cluster);
    ClusterShape shape = campaign.shape;
    shape.nodes = std::max(1U, cluster.num_nodes);
    shape.gpus_per_node = std::max(1U, cluster.node.gpus_per_node);
    shape.nics_per_node = std::max(1U, cluster.fabric.nics_per_node);
    shape.nodes_per_leaf = campaign.nodes_per_leaf.value_or(switches.nodes_per_set);
    shape.leaves_per_set = switches.leaves_per_set;
    shape.spines = switches.spines;
    return shape;
}

}  // namespace orrery
