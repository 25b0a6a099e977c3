// SPDX-License-Identifier: Apache-2.0
// A node that loses an adapter, a cable or a leaf switch continues over its other path (dual ToR,
// or another rail), and the job at the pace of the lower bandwidth, until the node is repaired or
// drained. The network itself routes around the loss: a supervisor sees at most a slow node.
#pragma once

#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct RailFailover {
    WallTime stall = WallTime::seconds(1);  // until traffic has moved to the other path (assumed)
    double bandwidth = 0.5;                 // remaining share
    std::optional<double> slowdown{};       // factor on the job's step
    bool operator==(const RailFailover&) const = default;

    static constexpr PolicyWords kWords{.name = "rail_failover",
                                        .meaning = "Go on through another adapter.",
                                        .does_not_cover = "both of a node's ways out",
                                        .in_real_runs = false};
    static constexpr auto knobs() {
        return std::tuple{
            knob<&RailFailover::stall>("stall", "Time until traffic has moved."),
            knob<&RailFailover::bandwidth>("bandwidth", "Share of the bandwidth that is left.")
                .range(0.01, 1),
            knob<&RailFailover::slowdown>("slowdown", "Time of a step / its time on all rails.")
                .range(1, 1000)
                .by("from the network's share of the step")};
    }

    void complete(const PolicySetting& setting) {
        slowdown = slowdown.value_or(1 + setting.network_share * (1 / bandwidth - 1));
    }
    std::optional<Detour> detour() const {
        return Detour{.stall = stall, .slowdown = slowdown.value_or(1)};
    }
};

}  // namespace orrery
