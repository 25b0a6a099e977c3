// SPDX-License-Identifier: Apache-2.0
// Checkpoints in the store, at an interval that is given or follows from the rates of failures
// (closed_forms.h). The section `checkpoint` of a recovery plan chooses it, not the ladder.
#pragma once

#include "engine/recovery/recovery_policy.h"

namespace orrery {

enum class IntervalRule : std::uint8_t { fixed, young, daly, exact, adaptive };

struct CheckpointInterval {
    IntervalRule rule = IntervalRule::fixed;
    WallTime fixed = WallTime::hours(1);
    WallTime stall;  // of training, for one checkpoint
    WallTime mtbf;   // expected; what `adaptive` starts from
    WallTime least;  // time until a checkpoint is durable: the next one would wait for it
    WallTime step;   // the interval is a whole number of steps of so long; 0: any
    bool operator==(const CheckpointInterval&) const = default;

    static constexpr PolicyWords kWords{.name = "checkpoint",
                                        .does_not_cover = "work since the last checkpoint"};

    std::optional<WallTime> interval(const JobState& state) const;
};

WallTime interval_of(const CheckpointInterval& rule, WallTime mtbf);

}  // namespace orrery
