// SPDX-License-Identifier: Apache-2.0
// The power of a row of servers, and its clocks (engine/serving/power_policy.h).
#include <algorithm>

#include "engine/serving/served_run.h"

namespace orrery {

void ServedRun::begin_power() {
    if (parts_.power.policy == nullptr) {
        return;
    }
    metered_.resize(instances_.size());
    events_.schedule(parts_.power.telemetry, kPower, 0);
}

// The energy of all instances since the last question, including idle power.
double ServedRun::joules_since_last(Time now) {
    double joules = 0;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
        const double until_now = instances_[i].joules(now);
        joules += until_now - metered_[i];
        metered_[i] = until_now;
    }
    return joules;
}

// The time since the last question adds to the energy. It counts as a peak only if there was no
// complete interval of telemetry.
void ServedRun::end_power() {
    if (parts_.power.policy == nullptr || result_.end <= Time{}) {
        return;
    }
    const bool was_asked = result_.row.joules > 0;
    result_.row.joules += joules_since_last(result_.end);
    if (!was_asked) {
        result_.row.peak_watts = result_.row.joules / result_.end.seconds();
    }
}

// Asks the policy, with the row's mean power since the last question.
void ServedRun::ask_power() {
    const RowPower& row = parts_.power;
    const double joules = joules_since_last(now_);
    const double watts = joules / row.telemetry.seconds();
    result_.row.joules += joules;
    result_.row.peak_watts = std::max(result_.row.peak_watts, watts);
    const double share = watts / row.limit_watts;
    if (share > 1 && !braked_) {
        braked_ = true;
        ++result_.row.brakes;
        events_.schedule(now_ + row.brake, kClocks, kBrake);
    } else if (share <= 1 && braked_) {
        braked_ = false;
        set_clocks(caps_);
    }
    const ClockCaps wanted = row.policy->caps(share, decided_);
    if (!(wanted == decided_)) {
        result_.row.capped += wanted.low < decided_.low || wanted.high < decided_.high ? 1 : 0;
        decided_ = wanted;
        coming_.push_back(wanted);
        events_.schedule(now_ + row.capping, kClocks, 0);
    }
    events_.schedule(now_ + row.telemetry, kPower, 0);
}

// Sets clocks that were decided earlier, or the brake.
void ServedRun::arrive_clocks(std::uint32_t what) {
    if (what == kBrake) {
        if (braked_) {
            set_clocks({.low = parts_.power.brake_clock, .high = parts_.power.brake_clock});
        }
        return;
    }
    caps_ = coming_.front();
    coming_.pop_front();
    if (!braked_) {
        set_clocks(caps_);
    }
}

void ServedRun::set_clocks(const ClockCaps& caps) {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
        instances_[i].set_clock(i >= parts_.power.first_low ? caps.low : caps.high);
    }
}

}  // namespace orrery
