// SPDX-License-Identifier: Apache-2.0
// A share of the steps is computed twice and compared (Gemini), which gives a verified step.
#pragma once

#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct ReplayCheck {
    double share = 0.0025;
    bool operator==(const ReplayCheck&) const = default;

    static constexpr PolicyWords kWords{.name = "replay",
                                        .meaning = "Compute steps twice and compare.",
                                        .does_not_cover = "corruption between the samples",
                                        .in_real_runs = false};
    static constexpr auto knobs() {
        return std::tuple{
            knob<&ReplayCheck::share>("share", "Share of the steps that are computed twice.")
                .range(1e-9, 1)};
    }

    std::optional<double> replayed_share() const { return share; }
    std::optional<Action> roll_back(const Observation& o, const JobState&) const {
        if (o.detector != Detector::replay) {
            return {};
        }
        return Action{.kind = ActionKind::restart, .step_max = o.verified_step};
    }
};

}  // namespace orrery
