// SPDX-License-Identifier: Apache-2.0
// The clock that a device has under a power limit, and the power that it takes at a clock. Both are
// shares: 1 is the clock, or the power, without a limit.
#pragma once

#include <cmath>

namespace orrery {

// clock = power^0.6: a tensor core that draws all it may goes on in the proportion of power at low
// voltages (an exponent of 1) and in its cube root where the voltage rises with the clock. In
// published steps and products under limits from half of the power up, the median exponent of a
// card's rows is 0.3 (V100, BERT), 0.4 (RTX 3090, a prefill; RTX 6000, BERT) and 0.9 (RTX PRO 6000,
// one product), the lower ones with limits above what the work drew. Assumed for all, not fitted.
inline constexpr double kClockExponent = 0.6;

inline double clock_at_power(double power) {
    return std::pow(power, kClockExponent);
}
inline double power_at_clock(double clock) {
    return std::pow(clock, 1 / kClockExponent);
}

}  // namespace orrery
