// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/wall_time_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "scenarios/format/document/unit_names.h"

namespace orrery {
namespace {

struct WallTimeUnit {
    std::string_view name;
    double microseconds;
    bool written = true;  // false: only read, never printed
};
// In descending order. A year has 365 days.
constexpr std::array kUnits = {WallTimeUnit{"y", 365 * 86400e6, false},
                               WallTimeUnit{"w", 7 * 86400e6, false},
                               WallTimeUnit{"d", 86400e6},
                               WallTimeUnit{"h", 3600e6},
                               WallTimeUnit{"min", 60e6},
                               WallTimeUnit{"s", 1e6},
                               WallTimeUnit{"ms", 1e3},
                               WallTimeUnit{"us", 1}};
constexpr std::string_view kHint =
    "write it like '10 min' or '3d4h'; units: y (365 d), w, d, h, min, s, ms, us";
constexpr double kLongestWall = 3e18;  // about 95,000 years, so that sums fit

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    return text;
}

std::string_view letters(std::string_view text) {
    std::size_t n = 0;
    while (n < text.size() && text[n] >= 'a' && text[n] <= 'z') {
        ++n;
    }
    return text.substr(0, n);
}

}  // namespace

Result<WallTime> parse_wall_time(std::string_view text) {
    const auto wrong = [&](const char* what) {
        return fail({}, fmt::format("'{}' {}", text.substr(0, 40), what), std::string{kHint});
    };
    double total = 0;
    std::size_t next = 0;  // units must descend
    std::string_view rest = without_blanks(text);
    do {
        double number = 0;
        const char* end = rest.data() + rest.size();
        const auto [stop, error] =
            std::from_chars(rest.data(), end, number, std::chars_format::fixed);
        if (error != std::errc{} || number < 0 || rest.starts_with('-') || !std::isfinite(number)) {
            return wrong("is not a span of time");
        }
        rest = without_blanks({stop, static_cast<std::size_t>(end - stop)});
        const std::string_view word = letters(rest);
        std::size_t unit = next;
        while (unit < kUnits.size() && kUnits[unit].name != word) {
            ++unit;
        }
        if (unit == kUnits.size()) {
            return wrong(word.empty() ? "has no unit" : "is not a span of time");
        }
        next = unit + 1;
        total += number * kUnits[unit].microseconds;
        rest = without_blanks(rest.substr(word.size()));
    } while (!rest.empty());
    if (total > kLongestWall) {
        return wrong("is too long");
    }
    return WallTime::microseconds(std::llround(total));
}

std::vector<std::string_view> wall_time_units() {
    std::vector<std::string_view> names;
    for (const WallTimeUnit& unit : kUnits) {
        names.push_back(unit.name);
    }
    return names;
}

std::string to_text(WallTime time) {
    const std::int64_t us = time.microseconds();
    for (const WallTimeUnit& unit : kUnits) {
        const auto scale = static_cast<std::int64_t>(unit.microseconds);
        if (unit.written && us != 0 && us % scale == 0) {
            return fmt::format("{} {}", us / scale, unit.name);
        }
    }
    return "0 s";
}

std::string to_short_text(WallTime time) {
    const auto us = static_cast<double>(time.microseconds());
    for (const WallTimeUnit& unit : kUnits) {
        const bool fits =
            unit.written && std::abs(us) >= unit.microseconds * (unit.name == "s" ? 1 : 2);
        if (us != 0 && (fits || unit.microseconds <= 1)) {
            const double value = us / unit.microseconds;
            const int digits = std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
            return fmt::format("{:.{}f} {}", value, digits, unit.name);
        }
    }
    return "0 s";
}

std::string to_clock_text(WallTime time) {
    const std::int64_t s = time.microseconds() / 1'000'000;
    return fmt::format("{}d {:02}:{:02}:{:02}", s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
}

}  // namespace orrery
