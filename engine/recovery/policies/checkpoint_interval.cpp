// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/policies/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

#include "engine/recovery/closed_forms.h"

namespace orrery {
namespace {

// A checkpoint that costs nothing would be taken all the time.
constexpr WallTime kLeastStall = WallTime::microseconds(1000);

}  // namespace

std::optional<WallTime> CheckpointInterval::interval(const JobState& state) const {
    if (rule != IntervalRule::adaptive) {
        return interval_of(*this, mtbf);
    }
    // The expected interval between failures, mtbf, counts as one observed interval.
    const WallTime seen = mtbf + state.trained;
    const auto count = static_cast<std::int64_t>(state.incidents) + 1;
    return interval_of(*this, WallTime::microseconds(seen.microseconds() / count));
}

WallTime interval_of(const CheckpointInterval& rule, WallTime mtbf) {
    const double stall = std::max(rule.stall, kLeastStall).seconds();
    const double m = mtbf.seconds();
    double seconds = rule.fixed.seconds();
    switch (rule.rule) {
        case IntervalRule::young:
            seconds = young_interval_s(m, stall);
            break;
        case IntervalRule::daly:
            seconds = daly_interval_s(m, stall);
            break;
        case IntervalRule::exact:
        case IntervalRule::adaptive:
            seconds = optimal_interval_s(m, stall);
            break;
        default:
            break;
    }
    const bool chosen = rule.rule != IntervalRule::fixed;
    const WallTime least = std::max(chosen ? rule.least : WallTime{}, WallTime::microseconds(1));
    const WallTime wanted = std::max(WallTime::seconds(seconds), least);
    if (rule.step <= WallTime{}) {
        return wanted;
    }
    const std::int64_t step = rule.step.microseconds();
    const std::int64_t nearest = (wanted.microseconds() + step / 2) / step;
    const std::int64_t steps = std::max(nearest, (least.microseconds() + step - 1) / step);
    return WallTime::microseconds(steps * step);
}

}  // namespace orrery
