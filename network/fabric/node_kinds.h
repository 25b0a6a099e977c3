// SPDX-License-Identifier: Apache-2.0
// Kinds of nodes in one cluster: which of them reach each other by RDMA, what they must have in
// common, and the first link of each node.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/memory_tiers.h"
#include "network/fabric/node_wiring.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

// The name in scenarios: "infiniband".
std::string_view name(NicClass nic_class);

// Whether messages between two kinds (or between two nodes of one kind) use TCP: their adapters
// have different classes, or no RDMA.
bool speak_tcp(const ClusterSpec& spec, std::uint32_t kind_a, std::uint32_t kind_b);

// Checks that GPUs, trays and NICs of all kinds match, and that a network connects all nodes.
Result<void> check_kinds(const ClusterSpec& spec);
// Nodes of different RDMA classes must be on different switches: if leaves have uplinks, no leaf
// set has nodes of two classes, and no pod either, if cores connect pods.
Result<void> check_leaf_sets(const ClusterSpec& spec, const SwitchTree& tree);

// The wiring of each node and the number of its first link; the links of node 0 come first.
class NodeWirings {
public:
    explicit NodeWirings(const ClusterSpec& spec);

    const NodeWiring& of(std::uint32_t node) const { return run_of(node).wiring; }
    const NodeSpec& spec_of(std::uint32_t node) const { return run_of(node).spec; }
    std::uint32_t first_link(std::uint32_t node) const {
        const Run& run = run_of(node);
        return run.first_link + (node - run.first_node) * run.wiring.num_links();
    }
    // The number of links inside all nodes.
    std::uint32_t num_links() const { return num_links_; }
    // The same for the links between memory tiers, which have numbers of their own from 0.
    const TierWiring& tiers_of(std::uint32_t node) const { return run_of(node).tiers; }
    std::uint32_t first_tier_link(std::uint32_t node) const {
        const Run& run = run_of(node);
        return run.first_tier_link + (node - run.first_node) * run.tiers.num_links();
    }
    std::uint32_t num_tier_links() const { return num_tier_links_; }
    std::uint32_t most_memories() const { return most_memories_; }
    // The node of an internal link; `link` < num_links().
    std::uint32_t node_of_link(std::uint32_t link) const;
    // The maximum over the kinds of NodeWiring::num_sockets().
    std::uint32_t most_sockets() const { return most_sockets_; }

private:
    // Nodes of one kind.
    struct Run {
        std::uint32_t first_node = 0;
        std::uint32_t first_link = 0;
        NodeSpec spec;
        NodeWiring wiring;
        TierWiring tiers;
        std::uint32_t first_tier_link = 0;
    };
    const Run& run_of(std::uint32_t node) const {
        std::size_t i = runs_.size() - 1;
        while (node < runs_[i].first_node) {
            --i;
        }
        return runs_[i];
    }

    std::vector<Run> runs_;
    std::uint32_t num_links_ = 0;
    std::uint32_t most_sockets_ = 1;
    std::uint32_t num_tier_links_ = 0;
    std::uint32_t most_memories_ = 0;  // maximum of a node with links between tiers
};

}  // namespace orrery
