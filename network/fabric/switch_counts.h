// SPDX-License-Identifier: Apache-2.0
// The number of switches in each tier of a cluster's fabric, from its description alone, for the
// model of faults.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

// The tiers of the fabric. For kind `file` it has only the NICs.
Result<SwitchTree> fabric_tree(const ClusterSpec& spec);

struct SwitchCounts {
    std::uint32_t nodes_per_set = 1;   // servers that share their leaf switches
    std::uint32_t leaves_per_set = 1;  // leaf switches of a set, one per rail
    std::uint32_t spines = 0;          // switches of the second tier
    bool operator==(const SwitchCounts&) const = default;
};
// For listed cables, a leaf is a switch with a NIC, all others are spines, and sets are assumed to
// be equal. Without switches (a single server), or if the fabric cannot be built: one leaf for all.
SwitchCounts count_switches(const ClusterSpec& spec);

}  // namespace orrery
