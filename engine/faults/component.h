// SPDX-License-Identifier: Apache-2.0
// The components that a fault can hit: a GPU, a NIC, a node, a domain of nodes that fail together
// (rack, power feed, pod, site), a leaf (ToR) switch, a spine switch, or the whole job. In text:
// "node:17/gpu:3", "rack:4", "node:*", "site". Domains are ranges of consecutive nodes. If the NICs
// of a node are on several leaf switches, these switches have one range: leaf i serves range i /
// leaves_per_set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace orrery {

// The value is part of the key of random streams: append new scopes at the end.
enum class Scope : std::uint8_t { gpu, nic, node, rack, leaf, pdu, pod, job, spine, site };
inline constexpr std::size_t kNumScopes = 10;

struct ClusterShape {
    std::uint32_t nodes = 1;
    std::uint32_t gpus_per_node = 8;
    std::uint32_t nics_per_node = 8;
    std::uint32_t nodes_per_rack =
        2;  // Kokolis et al. (HPCA 2025): 2 servers a rack, 10 racks a pod
    std::uint32_t nodes_per_leaf = 32;  // under one set of leaf switches
    std::uint32_t leaves_per_set = 1;   // one leaf a rail if each NIC has its own
    std::uint32_t spines = 0;           // switches above the leaves
    std::uint32_t nodes_per_pdu = 4;
    std::uint32_t nodes_per_pod = 20;

    std::uint32_t components(Scope scope) const;
    bool operator==(const ClusterShape&) const = default;
};

struct NodeRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool operator==(const NodeRange&) const = default;
};

inline constexpr std::uint32_t kEvery = ~std::uint32_t{0};

struct Component {
    Scope scope = Scope::node;
    // Index of the component of this scope in the whole cluster; kEvery: all of them
    std::uint32_t index = kEvery;
    bool operator==(const Component&) const = default;
};

std::string_view name(Scope scope);
// "1 GPU", "1,024 GPUs", "32 leaf switches".
std::string count_of(Scope scope, std::uint32_t count);
// Empty for the job and for a spine
NodeRange nodes_of(const ClusterShape& shape, Component component);
// The component of a scope that the node belongs to; the first if there are several.
Component domain_of(const ClusterShape& shape, Scope scope, std::uint32_t node);
// The key of a component's random stream. It does not depend on the size of the cluster.
std::uint64_t entity_of(Component component);
std::string to_text(const ClusterShape& shape, Component component);
// Error::where is empty; the caller adds the place.
Result<Component> parse_component(std::string_view text, const ClusterShape& shape);

}  // namespace orrery
