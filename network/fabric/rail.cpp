// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/rail.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {

Result<SwitchTree> rail_tree(const ClusterSpec& spec) {
    const FabricSpec& fabric = spec.fabric;
    if (fabric.tiers != 2 && fabric.tiers != 3) {
        return fail("cluster.fabric.tiers",
                    fmt::format("a rail fabric cannot have {} tiers", fabric.tiers),
                    "2 (rail leaves and spines) or 3 (rail leaves, spine groups, cores)");
    }
    auto tree = tree_of_leaf_sets(spec, spec.nics_per_server());
    if (!tree) {
        return tree;
    }
    if (fabric.tiers == 3) {
        tree->sets_per_pod = std::min(tree->sets_per_pod, fabric.leaf_sets_per_pod);
        tree->blocks_per_pod = spec.nics_per_server();
    }
    return with_upper_tiers(*tree, fabric);
}

}  // namespace orrery
