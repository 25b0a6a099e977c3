// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/clos.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {

Result<SwitchTree> clos_tree(const ClusterSpec& spec) {
    const FabricSpec& fabric = spec.fabric;
    if (fabric.tiers != 2 && fabric.tiers != 3) {
        return fail("cluster.fabric.tiers",
                    fmt::format("a clos fabric cannot have {} tiers", fabric.tiers),
                    "2 (leaf-spine) or 3 (ToR, aggregation, core); one tier is kind single_switch");
    }
    auto tree = tree_of_leaf_sets(spec, fabric.multi_rail ? spec.nics_per_server() : 1);
    if (!tree) {
        return tree;
    }
    if (fabric.tiers == 3) {
        // A cluster smaller than one pod has no cores, and its pod has only the existing sets.
        tree->sets_per_pod = std::min(tree->sets_per_pod, fabric.leaf_sets_per_pod);
    }
    return with_upper_tiers(*tree, fabric);
}

Result<SwitchTree> single_switch_tree(const ClusterSpec& spec) {
    auto tree = tree_of_leaf_sets(spec, 1);
    if (!tree) {
        return tree;
    }
    tree->nodes_per_set = spec.num_servers();
    tree->sets_per_pod = 1;
    tree->num_leaves = 1;
    return with_upper_tiers(*tree, spec.fabric);
}

}  // namespace orrery
