// SPDX-License-Identifier: Apache-2.0
// The common shape of our fabrics: a folded Clos network of one to three tiers, as arithmetic on
// coordinates. Servers form *leaf sets*, whose leaves split the NICs by index. Leaves form *blocks*
// (a pod, or one rail of a pod): every leaf of a block has cables to every tier-2 switch of the
// block. Tier-2 switch k of every block has cables to every core of plane k. network/fabric/clos.h
// and network/fabric/rail.h define the numbers of each fabric.
//
// Spraying spreads every flow evenly over all equal paths, so that all links of a bundle have the
// same load. A tree for spraying (`merged`) therefore has one link of the summed capacity per leaf
// and direction instead of its uplinks, and one per block and direction instead of all cables to
// the cores. This is exact for perfect spraying.
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
    // Parallel cables from a leaf to each tier-2 switch of its block
    std::uint32_t leaf_cables = 1;
    std::uint32_t cores_per_plane = 0;  // 0: no third tier
    // Parallel cables from a tier-2 switch to each core of its plane
    std::uint32_t core_cables = 1;
    bool merged = false;
    Bandwidth uplink;     // of one cable above a leaf
    Bandwidth core_link;  // of one cable above a tier-2 switch

    std::uint32_t nics_per_server() const { return nics_per_node / trays; }
    // The same NIC by the number of its server and its number there.
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
    // The number of a leaf in block order; all blocks are assumed to be full.
    std::uint32_t leaf_number(std::uint32_t leaf) const {
        const std::uint32_t set_of_pod = leaf / leaves_per_set % sets_per_pod;
        const std::uint32_t rail = leaf % leaves_per_set / blocks_per_pod;
        return block_of(leaf) * leaves_per_block() +
               set_of_pod * (leaves_per_set / blocks_per_pod) + rail;
    }
    std::uint32_t leaves_per_block() const {
        return sets_per_pod * (leaves_per_set / blocks_per_pod);
    }
    // The number of NICs of a full leaf.
    std::uint32_t nics_per_leaf() const {
        return nodes_per_set * (nics_per_server() / leaves_per_set);
    }
    // The position of a NIC among those of its leaf.
    std::uint32_t index_under_leaf(NicPort port) const {
        const NicPort own = on_server(port);
        return own.node % nodes_per_set * (nics_per_server() / leaves_per_set) +
               own.nic / leaves_per_set;
    }
    // Upward ports. Port p of a leaf is cable p / tier2_per_block to tier-2 switch p %
    // tier2_per_block of its block; tier-2 switches have the same order.
    std::uint32_t leaf_uplinks() const { return tier2_per_block * leaf_cables; }
    std::uint32_t tier2_uplinks() const { return cores_per_plane * core_cables; }
    std::uint32_t num_tier2() const { return num_blocks * tier2_per_block; }
    std::uint32_t num_cores() const { return tier2_per_block * cores_per_plane; }

    // Links relative to the tree's first: NICs, leaf uplinks, tier-2 uplinks. Each cable has its
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
    // The number of cables of the fabric without merging; a cable has both directions. It limits
    // the fabric's size.
    double num_cables() const;
    // The number of equal-cost paths between two different NICs.
    std::uint64_t num_paths(NicPort from, NicPort to) const;
    bool operator==(const SwitchTree&) const = default;
};

// Common checks of all kinds. Sets the members from num_nodes on from the spec, with `merged` from
// its routing.
Result<SwitchTree> tree_of_leaf_sets(const ClusterSpec& spec, std::uint32_t leaves_per_set);

// Adds the second and third tiers for the fabric's bandwidths to a tree with known numbers of sets
// and blocks. A third tier exists only with several blocks. A fractional number of uplinks is
// rounded (network/fabric/fabric_remarks.h reports it). It is an error if no uplink would remain,
// or if rounding would change the number by nearly a half.
Result<SwitchTree> with_upper_tiers(SwitchTree tree, const FabricSpec& fabric);

}  // namespace orrery
