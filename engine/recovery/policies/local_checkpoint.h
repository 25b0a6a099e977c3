// SPDX-License-Identifier: Apache-2.0
// Each node copies its state to its own host memory after a step (DLRover's flash checkpoint,
// NVRx's local checkpoint). The copy survives the processes, but not the node.
#pragma once

#include <tuple>

#include "engine/recovery/peer_placement.h"
#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct LocalCheckpoint {
    bool operator==(const LocalCheckpoint&) const = default;

    static constexpr PolicyWords kWords{.name = "local_checkpoint",
                                        .meaning = "Copy each step to the node's own host memory.",
                                        .does_not_cover = "the loss of a node",
                                        .excludes = "peer_checkpoint",
                                        .why_excluded = "peers' copies include a node's own",
                                        .in_real_runs = false};
    static constexpr auto knobs() { return std::tuple{}; }

    std::optional<PeerPlacement> copies() const { return PeerPlacement{.copies = 1}; }
    std::optional<RestoreSource> restore(const Observation& o,
                                         const JobState& state,
                                         RestartExtent) const {
        const bool whole = state.evicted.empty() && o.memory_step >= o.durable_step;
        return whole ? std::optional{RestoreSource::memory} : std::nullopt;
    }
};

}  // namespace orrery
