// SPDX-License-Identifier: Apache-2.0
// The nodes that hold copies of a node's state in their memories (GEMINI, SOSP 2023): groups of m
// nodes that hold each other's state, the next m - 1 nodes of a ring, or the same stage's nodes in
// the next data-parallel units.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/recovery/job_state.h"

namespace orrery {

enum class PeerPlacementKind : std::uint8_t { group, ring, cross_data_parallel };

struct PeerPlacement {
    PeerPlacementKind kind = PeerPlacementKind::group;
    std::uint32_t copies = 2;  // m, including the node's own
    bool operator==(const PeerPlacement&) const = default;

    // The slots that hold the state of `slot`, including itself.
    std::vector<std::uint32_t> holders(const JobShape& shape, std::uint32_t slot) const;
    // Whether every slot's state survives the loss of the slots in `lost`.
    bool survives(const JobShape& shape, const std::vector<std::uint32_t>& lost) const;
};

}  // namespace orrery
