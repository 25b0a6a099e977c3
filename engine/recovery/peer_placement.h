// SPDX-License-Identifier: Apache-2.0
// Where the copies of a node's state live in other nodes' memories (GEMINI, SOSP 2023): in groups
// of m nodes that hold each other's state, on the next m - 1 nodes of a ring, or on the same
// stage's node in the next data-parallel units.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/recovery/job_state.h"

namespace orrery {

enum class PeerPlacementKind : std::uint8_t { group, ring, cross_data_parallel };

struct PeerPlacement {
    PeerPlacementKind kind = PeerPlacementKind::group;
    std::uint32_t copies = 2;  // m, the own one included
    bool operator==(const PeerPlacement&) const = default;

    // The slots that hold the state of one, itself included.
    std::vector<std::uint32_t> holders(const JobShape& shape, std::uint32_t slot) const;
    // Whether every slot's state outlives the loss of these.
    bool survives(const JobShape& shape, const std::vector<std::uint32_t>& lost) const;
};

}  // namespace orrery
