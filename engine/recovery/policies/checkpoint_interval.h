// SPDX-License-Identifier: Apache-2.0
// Checkpoints in the store, at a fixed interval or at one that follows from the failure rate
// (closed_forms.h). The section `checkpoint` of a recovery plan sets it, not the ladder.
#pragma once

#include "engine/recovery/recovery_policy.h"

namespace orrery {

enum class IntervalRule : std::uint8_t { fixed, young, daly, exact, adaptive };

struct CheckpointInterval {
    IntervalRule rule = IntervalRule::fixed;
    WallTime fixed = WallTime::hours(1);
    WallTime stall;  // stall of training for one checkpoint
    WallTime mtbf;   // expected value; the start of `adaptive`
    WallTime least;  // time until a checkpoint is durable; a shorter interval would wait for it
    WallTime step;   // the interval is a whole number of steps of this length; 0: any interval
    bool operator==(const CheckpointInterval&) const = default;

    static constexpr PolicyWords kWords{.name = "checkpoint",
                                        .does_not_cover = "work since the last checkpoint"};

    std::optional<WallTime> interval(const JobState& state) const;
};

WallTime interval_of(const CheckpointInterval& rule, WallTime mtbf);

}  // namespace orrery
