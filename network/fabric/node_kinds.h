// SPDX-License-Identifier: Apache-2.0
// Kinds of nodes in one cluster: which of them reach each other by RDMA, what they must have in
// common, and where the links inside each node begin.
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

// As scenarios write it: "infiniband".
std::string_view name(NicClass nic_class);

// Whether messages between two kinds (or between two nodes of one) go over TCP: their adapters are
// of different classes, or speak no RDMA.
bool speak_tcp(const ClusterSpec& spec, std::uint32_t kind_a, std::uint32_t kind_b);

// GPUs, trays and NICs that fit together, and a network that joins all nodes.
Result<void> check_kinds(const ClusterSpec& spec);
// Nodes of different RDMA classes hang on different switches: where leaves have uplinks, no leaf
// set (and no pod, where pods are joined by cores) has nodes of two classes.
Result<void> check_leaf_sets(const ClusterSpec& spec, const SwitchTree& tree);

// The wiring of each node, and the number of its first link: the links of node 0 come first.
class NodeWirings {
public:
    explicit NodeWirings(const ClusterSpec& spec);

    const NodeWiring& of(std::uint32_t node) const { return run_of(node).wiring; }
    const NodeSpec& spec_of(std::uint32_t node) const { return run_of(node).spec; }
    std::uint32_t first_link(std::uint32_t node) const {
        const Run& run = run_of(node);
        return run.first_link + (node - run.first_node) * run.wiring.num_links();
    }
    // The links of all nodes.
    std::uint32_t num_links() const { return num_links_; }
    // The same of the links between memory tiers, numbered from 0 on their own.
    const TierWiring& tiers_of(std::uint32_t node) const { return run_of(node).tiers; }
    std::uint32_t first_tier_link(std::uint32_t node) const {
        const Run& run = run_of(node);
        return run.first_tier_link + (node - run.first_node) * run.tiers.num_links();
    }
    std::uint32_t num_tier_links() const { return num_tier_links_; }
    std::uint32_t most_memories() const { return most_memories_; }
    // The node that a link is inside; `link` < num_links().
    std::uint32_t node_of_link(std::uint32_t link) const;
    // The sockets of the kind that has most (NodeWiring::num_sockets).
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
    std::uint32_t most_memories_ = 0;  // of a node with links between tiers
};

}  // namespace orrery
