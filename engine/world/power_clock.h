// SPDX-License-Identifier: Apache-2.0
// The clock of a device under a power limit, and its power at a clock. Both are fractions of their
// values without a limit.
#pragma once

#include <cmath>

namespace orrery {

// clock = power^0.6, an assumption for all devices that is not fitted. A tensor core at its power
// limit changes its clock in proportion to power at low voltages (exponent 1), and with the cube
// root of power where the voltage rises with the clock (1/3). In published steps and products under
// limits from half of the power up, the median exponent of a card's rows is 0.3 (V100, BERT), 0.4
// (RTX 3090, a prefill; RTX 6000, BERT) and 0.9 (RTX PRO 6000, one product). The lower values
// include limits above the power that the work drew.
inline constexpr double kClockExponent = 0.6;

inline double clock_at_power(double power) {
    return std::pow(power, kClockExponent);
}
inline double power_at_clock(double clock) {
    return std::pow(clock, 1 / kClockExponent);
}

}  // namespace orrery
