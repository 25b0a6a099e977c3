// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/switch_counts.h"

#include <algorithm>
#include <set>

#include "network/fabric/cable_list.h"
#include "network/fabric/clos.h"
#include "network/fabric/rail.h"

namespace orrery {
namespace {

SwitchCounts count_listed(const CableList& cables, std::uint32_t trays) {
    const std::uint32_t nics_per_server = std::max(1U, cables.nics_per_node() / trays);
    const std::uint32_t servers = cables.num_nodes() * trays;
    std::set<std::uint32_t> leaves;
    std::set<std::uint32_t> of_first_server;
    for (const CableList::Cable& cable : cables.nic_cables()) {
        leaves.insert(cable.b);
        if (cable.a < nics_per_server) {
            of_first_server.insert(cable.b);
        }
    }
    const auto all = static_cast<std::uint32_t>(leaves.size());
    const auto rails = std::max(1U, static_cast<std::uint32_t>(of_first_server.size()));
    const std::uint32_t sets = std::max(1U, all / rails);
    return {.nodes_per_set = std::max(1U, (servers + sets - 1) / sets),
            .leaves_per_set = rails,
            .spines = static_cast<std::uint32_t>(cables.switches().size()) - all};
}

}  // namespace

Result<SwitchTree> fabric_tree(const ClusterSpec& spec) {
    if (spec.num_nodes == 1 && spec.fabric.nic_bandwidth == Bandwidth{}) {
        return single_switch_tree(spec);  // a single server needs no network
    }
    switch (spec.fabric.kind) {
        case FabricKind::clos:
            return clos_tree(spec);
        case FabricKind::rail:
            return rail_tree(spec);
        case FabricKind::single_switch:
        case FabricKind::file:
            break;
    }
    return single_switch_tree(spec);
}

SwitchCounts count_switches(const ClusterSpec& spec) {
    if (spec.fabric.kind == FabricKind::file && spec.fabric.cables) {
        return count_listed(*spec.fabric.cables, spec.node.trays);
    }
    const Result<SwitchTree> tree = fabric_tree(spec);
    if (!tree) {
        return {.nodes_per_set = std::max(1U, spec.num_servers())};
    }
    return {.nodes_per_set = std::max(1U, tree->nodes_per_set),
            .leaves_per_set = tree->leaves_per_set,
            .spines = tree->num_tier2()};
}

}  // namespace orrery
