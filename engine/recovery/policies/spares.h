// SPDX-License-Identifier: Apache-2.0
// Ready nodes take the slots of lost nodes (ByteRobust's warm standbys).
#pragma once

#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct HotSpares {
    std::optional<std::uint32_t> count{};
    std::optional<double> quantile{};
    WallTime window{};
    bool operator==(const HotSpares&) const = default;

    static constexpr PolicyWords kWords{.name = "spares",
                                        .meaning = "Ready nodes take the places of lost ones.",
                                        .does_not_cover = "more nodes down than spares"};
    static constexpr auto knobs() {
        return std::tuple{
            knob<&HotSpares::count>("count", "Number of spare nodes.")
                .range(0, 1'000'000)
                .of("nodes")
                .by("from quantile"),
            knob<&HotSpares::quantile>("quantile", "Probability with which the spares are enough.")
                .range(0.5, 0.999999)
                .by("0.99"),
            knob<&HotSpares::window>("window", "Time for which the spares are enough.")
                .by("a repair")};
    }

    std::optional<PolicyMisfit> contradiction() const {
        if (!count || !quantile) {
            return {};
        }
        return PolicyMisfit{.knob = "quantile",
                            .what = "spares have a count and a quantile",
                            .hint = "one of them"};
    }
    // ByteRobust sizes its standbys by the 99th percentile.
    std::optional<SpareRule> spares() const {
        return SpareRule{.count = count, .quantile = quantile.value_or(0.99), .window = window};
    }
    std::optional<Action> fill(const JobState& state, std::uint32_t) const {
        if (state.spares.empty()) {
            return {};
        }
        return Action{.kind = ActionKind::replace, .node = state.spares.front()};
    }
};

}  // namespace orrery
