// SPDX-License-Identifier: Apache-2.0
// The shape that all our fabrics share, a folded Clos network of one to three tiers, as arithmetic
// on coordinates. Servers form *leaf sets*; the leaves of a set split its NICs by index. Leaves
// form *blocks* (a pod, or one rail of a pod): every leaf of a block has cables to every tier-2
// switch of it. Tier-2 switch k of every block has cables to every core of plane k.
// network/fabric/clos.h and network/fabric/rail.h say which numbers make which fabric.
//
// Spraying spreads every flow evenly over all equal paths, so all links of such a bundle carry the
// same load. A tree for spraying (`merged`) therefore has one link per leaf and direction in place
// of all its uplinks, and one per block and direction in place of all cables to the cores, with the
// summed capacity. That is exact as long as spraying is perfect.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/path.h"

namespace orrery {

struct SwitchTree {
    std::uint32_t num_nodes = 1;
    std::uint32_t nics_per_node = 1;
    std::uint32_t trays = 1;           // servers of a node, which share its NICs evenly, in order
    std::uint32_t nodes_per_set = 1;   // servers
    std::uint32_t leaves_per_set = 1;  // NIC i of a server is on leaf i % leaves_per_set of its set
    std::uint32_t sets_per_pod = 1;
    std::uint32_t blocks_per_pod = 1;  // leaf i of a set belongs to block i % blocks_per_pod
    std::uint32_t num_leaves = 1;
    std::uint32_t num_blocks = 0;  // 0: no second tier
    std::uint32_t tier2_per_block = 0;
    std::uint32_t leaf_cables = 1;      // parallel, from a leaf to each tier-2 switch of its block
    std::uint32_t cores_per_plane = 0;  // 0: no third tier
    std::uint32_t core_cables = 1;      // parallel, from a tier-2 switch to each core of its plane
    bool merged = false;
    Bandwidth uplink;     // of one cable above a leaf
    Bandwidth core_link;  // of one cable above a tier-2 switch

    std::uint32_t nics_per_server() const { return nics_per_node / trays; }
    // The same NIC by its server's number, and its number there.
    NicPort on_server(NicPort port) const {
        if (trays == 1) {
            return port;
        }
        return {.node = port.node * trays + port.nic / nics_per_server(),
                .nic = port.nic % nics_per_server()};
    }
    std::uint32_t leaf_of(NicPort port) const {
        const NicPort own = on_server(port);
        return own.node / nodes_per_set * leaves_per_set + own.nic % leaves_per_set;
    }
    std::uint32_t block_of(std::uint32_t leaf) const {
        const std::uint32_t set = leaf / leaves_per_set;
        return set / sets_per_pod * blocks_per_pod + leaf % leaves_per_set % blocks_per_pod;
    }
    // Leaves numbered block by block, full blocks assumed.
    std::uint32_t leaf_number(std::uint32_t leaf) const {
        const std::uint32_t set_of_pod = leaf / leaves_per_set % sets_per_pod;
        const std::uint32_t rail = leaf % leaves_per_set / blocks_per_pod;
        return block_of(leaf) * leaves_per_block() +
               set_of_pod * (leaves_per_set / blocks_per_pod) + rail;
    }
    std::uint32_t leaves_per_block() const {
        return sets_per_pod * (leaves_per_set / blocks_per_pod);
    }
    // NICs that a full leaf serves.
    std::uint32_t nics_per_leaf() const {
        return nodes_per_set * (nics_per_server() / leaves_per_set);
    }
    // Position of a NIC among those of its leaf.
    std::uint32_t index_under_leaf(NicPort port) const {
        const NicPort own = on_server(port);
        return own.node % nodes_per_set * (nics_per_server() / leaves_per_set) +
               own.nic / leaves_per_set;
    }
    // Ports that lead upwards: port p of a leaf is cable p / tier2_per_block to tier-2 switch
    // p % tier2_per_block of its block; likewise above.
    std::uint32_t leaf_uplinks() const { return tier2_per_block * leaf_cables; }
    std::uint32_t tier2_uplinks() const { return cores_per_plane * core_cables; }
    std::uint32_t num_tier2() const { return num_blocks * tier2_per_block; }
    std::uint32_t num_cores() const { return tier2_per_block * cores_per_plane; }

    // Links, from the tree's first one on: NICs, leaf uplinks, tier-2 uplinks; each cable has its
    // upward direction first, then the downward one.
    std::uint32_t nic_link(NicPort port) const {
        return 2 * (port.node * nics_per_node + port.nic);
    }
    std::uint32_t first_leaf_link() const { return 2 * num_nodes * nics_per_node; }
    std::uint32_t leaf_link(std::uint32_t leaf, std::uint32_t port) const {
        return first_leaf_link() + 2 * (merged ? leaf : leaf * leaf_uplinks() + port);
    }
    std::uint32_t first_core_link() const {
        const bool has_uplinks = num_blocks > 0;
        const std::uint32_t per_leaf = merged ? 1 : leaf_uplinks();
        return first_leaf_link() + (has_uplinks ? 2 * num_leaves * per_leaf : 0);
    }
    std::uint32_t core_link_of(std::uint32_t block, std::uint32_t tier2, std::uint32_t port) const {
        const std::uint32_t cable = (block * tier2_per_block + tier2) * tier2_uplinks() + port;
        return first_core_link() + 2 * (merged ? block : cable);
    }
    std::uint32_t num_links() const {
        const bool has_cores = cores_per_plane > 0;
        const std::uint32_t cables = merged ? num_blocks : num_tier2() * tier2_uplinks();
        return first_core_link() + (has_cores ? 2 * cables : 0);
    }
    // Cables of the fabric, none merged, in both directions: what limits its size.
    double num_cables() const;
    // Equal-cost paths between two different NICs.
    std::uint64_t num_paths(NicPort from, NicPort to) const;
    bool operator==(const SwitchTree&) const = default;
};

// What every kind checks alike: sets num_nodes … routing's `merged` from the spec.
Result<SwitchTree> tree_of_leaf_sets(const ClusterSpec& spec, std::uint32_t leaves_per_set);

// Gives the tree the second and third tier that the fabric's bandwidths ask for, once the numbers
// of sets and blocks are known. Third tier: only if there are several blocks. A number of uplinks
// that comes out fractional is rounded (network/fabric/fabric_remarks.h says so), unless no uplink
// would be left or their number would change by nearly a half.
Result<SwitchTree> with_upper_tiers(SwitchTree tree, const FabricSpec& fabric);

}  // namespace orrery
