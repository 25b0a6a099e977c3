// SPDX-License-Identifier: Apache-2.0
// Each step is copied to other nodes' memories (GEMINI, SOSP 2023).
#pragma once

#include <tuple>

#include "engine/recovery/peer_placement.h"
#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

inline constexpr Choice<PeerPlacementKind> kPeerPlacementWords[] = {
    {"group", PeerPlacementKind::group},
    {"ring", PeerPlacementKind::ring},
    {"cross_dp", PeerPlacementKind::cross_data_parallel}};

struct PeerCheckpoint {
    PeerPlacement placement;
    bool operator==(const PeerCheckpoint&) const = default;

    static constexpr PolicyWords kWords{
        .name = "peer_checkpoint",
        .meaning = "Copy each step to other nodes' memories.",
        .does_not_cover = "all holders of a copy lost at once (a group, a rack, a pod)"};
    static constexpr auto knobs() {
        return std::tuple{
            knob<&PeerCheckpoint::placement, &PeerPlacement::copies>(
                "copies", "Copies of a state, with its own.")
                .range(2, 16),
            choice_knob<kPeerPlacementWords, &PeerCheckpoint::placement, &PeerPlacement::kind>(
                "placement", "Nodes that hold a node's copies.")};
    }

    std::optional<PeerPlacement> copies() const { return placement; }
    std::optional<RestoreSource> restore(const Observation& o,
                                         const JobState& state,
                                         RestartExtent) const {
        // The store has a later state than the copies.
        if (o.memory_step < o.durable_step) {
            return {};
        }
        return placement.survives(state.shape, state.evicted) ? std::optional{RestoreSource::memory}
                                                              : std::nullopt;
    }
};

}  // namespace orrery
