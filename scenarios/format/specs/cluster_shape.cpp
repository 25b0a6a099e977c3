// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/cluster_shape.h"

#include <algorithm>

#include "network/fabric/switch_counts.h"

namespace orrery {

ClusterShape cluster_shape(const ClusterSpec& cluster, const CampaignPlan& campaign) {
    const SwitchCounts switches = count_switches(cluster);
    ClusterShape shape = campaign.shape;
    shape.gpus_per_node = std::max(1U, cluster.gpus_per_server());
    shape.nodes =
        std::max(1U, (cluster.num_ranks() + shape.gpus_per_node - 1) / shape.gpus_per_node);
    shape.nics_per_node = std::max(1U, cluster.nics_per_server());
    if (campaign.nodes_per_rack) {
        shape.nodes_per_rack = *campaign.nodes_per_rack;
    } else if (cluster.node.trays > 1) {
        shape.nodes_per_rack = cluster.node.trays;
    }
    shape.nodes_per_leaf = campaign.nodes_per_leaf.value_or(switches.nodes_per_set);
    shape.leaves_per_set = switches.leaves_per_set;
    shape.spines = switches.spines;
    return shape;
}

}  // namespace orrery
