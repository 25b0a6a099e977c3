// SPDX-License-Identifier: Apache-2.0
// A dead stage's micro-batches go to its data-parallel peers (ReCycle, SOSP 2024).
#pragma once

#include <tuple>

#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct PipelineRerouting {
    bool operator==(const PipelineRerouting&) const = default;

    static constexpr PolicyWords kWords{
        .name = "reroute",
        .meaning = "Data-parallel peers compute a dead stage's micro-batches.",
        .does_not_cover = "a stage without a peer left",
        .in_real_runs = false};
    static constexpr auto knobs() { return std::tuple{}; }

    std::optional<Action> fill(const JobState& state, std::uint32_t slot) const {
        return state.peers(slot) > 0 ? std::optional{Action{.kind = ActionKind::reroute}}
                                     : std::nullopt;
    }
    std::optional<RestoreSource> restore(const Observation&,
                                         const JobState& state,
                                         RestartExtent extent) const {
        return state_of_survivors(state, extent);
    }
    bool regrows(const JobState&) const { return true; }
};

}  // namespace orrery
