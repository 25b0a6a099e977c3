// SPDX-License-Identifier: Apache-2.0
// Each node also computes the work of the next stage's node, and takes over from it when it is lost
// (Bamboo, NSDI 2023), until a node is available again.
#pragma once

#include <algorithm>
#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct RedundantComputation {
    WallTime failover = WallTime::seconds(10);  // assumed
    std::optional<double> overhead{};  // every step, at all times, takes 1 + overhead times as long
    bool operator==(const RedundantComputation&) const = default;

    static constexpr PolicyWords kWords{.name = "redundant",
                                        .meaning = "Each node computes the next stage's work, too.",
                                        .does_not_cover = "two adjacent stages of a unit",
                                        .in_real_runs = false};
    static constexpr auto knobs() {
        return std::tuple{knob<&RedundantComputation::failover>(
                              "failover", "Time until the other node has taken over."),
                          knob<&RedundantComputation::overhead>(
                              "overhead", "Share by which every step is longer.")
                              .range(0, 10)
                              .by("from the plan's bubbles")};
    }

    void complete(const PolicySetting& setting) {
        overhead = overhead.value_or(setting.redundant_overhead);
    }
    std::optional<double> step_overhead() const { return overhead; }
    std::optional<WallTime> failover_time() const { return failover; }
    std::optional<Action> fill(const JobState& state, std::uint32_t) const {
        return covered(state) ? std::optional{Action{.kind = ActionKind::take_over}} : std::nullopt;
    }
    std::optional<RestoreSource> restore(const Observation&,
                                         const JobState& state,
                                         RestartExtent extent) const {
        const bool stays = extent == RestartExtent::failover || extent == RestartExtent::members;
        return stays && covered(state) ? std::optional{RestoreSource::live} : std::nullopt;
    }
    bool regrows(const JobState&) const { return true; }

private:
    // Whether the shadow of each lost slot still trains.
    static bool covered(const JobState& state) {
        const auto gone = [&](std::uint32_t slot) {
            const auto in = [&](const std::vector<std::uint32_t>& slots) {
                return std::find(slots.begin(), slots.end(), slot) != slots.end();
            };
            return in(state.evicted) || in(state.without);
        };
        const auto alone = [&](std::uint32_t slot) { return gone(state.shape.shadow_of(slot)); };
        return std::none_of(state.evicted.begin(), state.evicted.end(), alone) &&
               std::none_of(state.without.begin(), state.without.end(), alone);
    }
};

}  // namespace orrery
