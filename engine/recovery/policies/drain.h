// SPDX-License-Identifier: Apache-2.0
// Nodes that are slow, expected to fail or soon to be preempted leave the job after a checkpoint.
#pragma once

#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct PreemptiveDrain {
    bool slow = true;
    bool operator==(const PreemptiveDrain&) const = default;

    static constexpr PolicyWords kWords{.name = "drain",
                                        .meaning = "Nodes with warnings leave after a checkpoint.",
                                        .does_not_cover = "faults without a warning"};
    static constexpr auto knobs() {
        return std::tuple{knob<&PreemptiveDrain::slow>("slow", "Slow nodes leave, too.")};
    }

    bool drains_slow_nodes() const { return slow; }
    std::optional<Action> foresee(const Observation& o, const JobState& state) const {
        const bool is_slow = o.kind == ObservationKind::node_slow;
        if (o.nodes.empty() || (is_slow && !slow)) {
            return {};
        }
        // Without a replacement a slow node is better than none.
        if (is_slow && state.spares.empty()) {
            return {};
        }
        return Action{.kind = ActionKind::drain, .node = o.nodes.front(), .urgent = !is_slow};
    }
};

}  // namespace orrery
