// SPDX-License-Identifier: Apache-2.0
// How many switches of each tier a cluster's fabric has, from its description alone: what can fail.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "network/fabric/cluster_spec.h"
#include "network/fabric/switch_tree.h"

namespace orrery {

// The tiers of the fabric's kind. Of listed cables it has the NICs only.
Result<SwitchTree> fabric_tree(const ClusterSpec& spec);

struct SwitchCounts {
    std::uint32_t nodes_per_set = 1;   // servers that share their leaf switches
    std::uint32_t leaves_per_set = 1;  // leaf switches of a set, one a rail
    std::uint32_t spines = 0;          // switches of the second tier
    bool operator==(const SwitchCounts&) const = default;
};
// With listed cables a leaf is a switch with a NIC, all others are spines, and sets are taken to be
// equal. Without switches (a lone server) or with a fabric that can't be built: one leaf for all.
SwitchCounts count_switches(const ClusterSpec& spec);

}  // namespace orrery
