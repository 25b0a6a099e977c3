// SPDX-License-Identifier: Apache-2.0
// The coarse clock of campaigns over weeks: signed 64-bit microseconds (292,000 years). A training
// step uses Time (engine/base/units.h). No conversion between both is implicit.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "engine/base/units.h"

namespace orrery {

class WallTime {
public:
    constexpr WallTime() = default;
    static constexpr WallTime microseconds(std::int64_t us) { return WallTime{us}; }
    // Rounds to the nearest microsecond; values beyond the range become max().
    static constexpr WallTime seconds(double s) {
        const double us = s * 1e6 + (s < 0 ? -0.5 : 0.5);
        return us >= 9.2e18 ? max() : WallTime{static_cast<std::int64_t>(us)};
    }
    static constexpr WallTime hours(double h) { return seconds(h * 3600); }
    static constexpr WallTime days(double d) { return seconds(d * 86400); }
    // Rounds up, so that no step becomes shorter or takes no time.
    static constexpr WallTime of(Time time) {
        return WallTime{(time.picoseconds() + 999'999) / 1'000'000};
    }
    static constexpr WallTime max() { return WallTime{std::numeric_limits<std::int64_t>::max()}; }

    constexpr std::int64_t microseconds() const { return us_; }
    constexpr double seconds() const { return static_cast<double>(us_) * 1e-6; }
    constexpr double days() const { return seconds() / 86400; }
    constexpr auto operator<=>(const WallTime&) const = default;
    constexpr WallTime& operator+=(WallTime other) {
        us_ += other.us_;
        return *this;
    }
    friend constexpr WallTime operator+(WallTime a, WallTime b) { return WallTime{a.us_ + b.us_}; }
    friend constexpr WallTime operator-(WallTime a, WallTime b) { return WallTime{a.us_ - b.us_}; }
    friend constexpr WallTime operator*(WallTime a, std::int64_t n) { return WallTime{a.us_ * n}; }
    friend constexpr double operator/(WallTime a, WallTime b) {
        return static_cast<double>(a.us_) / static_cast<double>(b.us_);
    }

private:
    explicit constexpr WallTime(std::int64_t us) : us_(us) {}
    std::int64_t us_ = 0;
};

}  // namespace orrery
