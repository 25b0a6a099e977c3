// SPDX-License-Identifier: Apache-2.0
// The end of the clock of a served load, and sums that stop there instead of passing the range of
// a Time: a step may be as slow as a user says.
#pragma once

#include <cstdint>

#include "engine/base/units.h"

namespace orrery {

// A run that comes here ends. What is scheduled from an earlier instant, at most 1e6 s ahead, is
// within the range of a Time.
inline constexpr Time kLastInstant = Time::seconds(8e6);

// Of times that are not negative.
constexpr Time bounded_sum(Time a, Time b) {
    return a > Time::max() - b ? Time::max() : a + b;
}
constexpr Time bounded_product(Time a, std::int64_t n) {
    return n > 0 && a.picoseconds() > Time::max().picoseconds() / n ? Time::max() : a * n;
}

}  // namespace orrery
