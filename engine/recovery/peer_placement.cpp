// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/peer_placement.h"

#include <algorithm>

namespace orrery {

std::vector<std::uint32_t> PeerPlacement::holders(const JobShape& shape, std::uint32_t slot) const {
    std::vector<std::uint32_t> found;
    if (kind == PeerPlacementKind::group) {
        // The last group includes the remainder, so that no node is alone.
        const std::uint32_t groups = std::max(1U, shape.slots / copies);
        const std::uint32_t group = std::min(slot / copies, groups - 1);
        const std::uint32_t end = group + 1 == groups ? shape.slots : (group + 1) * copies;
        for (std::uint32_t i = group * copies; i < end; ++i) {
            found.push_back(i);
        }
        return found;
    }
    const bool ring = kind == PeerPlacementKind::ring;
    const std::uint32_t next = ring               ? 1
                               : shape.unit_major ? shape.slots / shape.units
                                                  : shape.nodes_per_place;
    // If the slots of a stage are consecutive, so are its units: they form a ring.
    const bool inside = !ring && !shape.unit_major;
    const std::uint32_t size = inside ? shape.units * shape.nodes_per_place : shape.slots;
    const std::uint32_t begin = inside ? slot / size * size : 0;
    for (std::uint32_t i = 0; i < std::min(copies, size); ++i) {
        found.push_back(begin + (slot - begin + i * next) % size);
    }
    return found;
}

bool PeerPlacement::survives(const JobShape& shape, const std::vector<std::uint32_t>& lost) const {
    const auto is_lost = [&](std::uint32_t slot) {
        return std::find(lost.begin(), lost.end(), slot) != lost.end();
    };
    return std::all_of(lost.begin(), lost.end(), [&](std::uint32_t slot) {
        const std::vector<std::uint32_t> held = holders(shape, slot);
        return !std::all_of(held.begin(), held.end(), is_lost);
    });
}

}  // namespace orrery
