// SPDX-License-Identifier: Apache-2.0
// The end of the clock of a serving run, and sums that saturate instead of overflowing a Time.
// Users may set arbitrarily slow steps.
#pragma once

#include <cstdint>

#include "engine/base/units.h"

namespace orrery {

// A run ends at this instant. Events are scheduled at most 1e6 s ahead, so that their times do not
// overflow.
inline constexpr Time kLastInstant = Time::seconds(8e6);

// For times that are not negative.
constexpr Time bounded_sum(Time a, Time b) {
    return a > Time::max() - b ? Time::max() : a + b;
}
constexpr Time bounded_product(Time a, std::int64_t n) {
    return n > 0 && a.picoseconds() > Time::max().picoseconds() / n ? Time::max() : a * n;
}

}  // namespace orrery
