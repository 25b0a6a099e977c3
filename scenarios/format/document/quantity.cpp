// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/quantity.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>

#include "scenarios/format/document/unit_names.h"

namespace orrery {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t scale;  // in bit/s, bytes, picoseconds or FLOP/s
};

// Units of each table in descending order. Of several spellings of a scale the first is printed.
constexpr std::int64_t kKilo = 1'000;
constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kTera = 1'000'000'000'000;
constexpr std::array kBandwidthUnits = {
    Unit{"TB/s", 8 * kTera},
    Unit{"TBps", 8 * kTera},
    Unit{"Tbps", kTera},
    Unit{"Tb/s", kTera},
    Unit{"GB/s", 8 * kGiga},
    Unit{"GBps", 8 * kGiga},
    Unit{"Gbps", kGiga},
    Unit{"Gb/s", kGiga},
    Unit{"MB/s", 8 * kMega},
    Unit{"MBps", 8 * kMega},
    Unit{"Mbps", kMega},
    Unit{"Mb/s", kMega},
    Unit{"KB/s", 8 * kKilo},
    Unit{"Kbps", kKilo},
    Unit{"B/s", 8},
    Unit{"bps", 1},
};
constexpr std::array kBytesUnits = {
    Unit{"TiB", std::int64_t{1} << 40},
    Unit{"TB", kTera},
    Unit{"GiB", std::int64_t{1} << 30},
    Unit{"GB", kGiga},
    Unit{"MiB", std::int64_t{1} << 20},
    Unit{"MB", kMega},
    Unit{"KiB", std::int64_t{1} << 10},
    Unit{"KB", kKilo},
    Unit{"B", 1},
};
constexpr std::array kTimeUnits = {
    Unit{"s", kTera},
    Unit{"ms", kGiga},
    Unit{"us", kMega},
    Unit{"µs", kMega},
    Unit{"ns", kKilo},
    Unit{"ps", 1},
};
constexpr std::array kFlopUnits = {
    Unit{"PFLOPS", 1000 * kTera},
    Unit{"PFLOP/s", 1000 * kTera},
    Unit{"TFLOPS", kTera},
    Unit{"TFLOP/s", kTera},
    Unit{"GFLOPS", kGiga},
    Unit{"GFLOP/s", kGiga},
};

std::string accepted(std::span<const Unit> units) {
    std::string list;
    for (const Unit& unit : units) {
        list += fmt::format("{}{}", list.empty() ? "" : ", ", unit.name);
    }
    return list;
}

struct Number {
    std::int64_t digits = 0;    // without the decimal point
    std::int64_t fraction = 1;  // 10^(digits after the point)
    std::size_t length = 0;     // characters read; 0: not a number
    bool too_long = false;      // more digits than any quantity needs
};

Number read_number(std::string_view text) {
    Number n;
    bool after_point = false;
    bool any = false;
    std::size_t i = 0;
    for (; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '.' && !after_point) {
            after_point = true;
        } else if (c >= '0' && c <= '9') {
            if (n.digits >= 100'000'000'000'000'000 || n.fraction >= 100'000'000'000'000'000) {
                return {.too_long = true};
            }
            any = true;
            n.digits = n.digits * 10 + (c - '0');
            n.fraction *= after_point ? 10 : 1;
        } else {
            break;
        }
    }
    n.length = any ? i : 0;
    return n;
}

struct Parsed {
    Number number;
    std::int64_t scale = 1;
};

Result<Parsed> parse(std::string_view text,
                     std::string_view what,
                     std::string_view example,
                     std::span<const Unit> units) {
    const std::string hint = fmt::format("write it like '{}'; units: {}", example, accepted(units));
    const Number number = read_number(text);
    if (number.too_long) {
        return fail(
            {}, fmt::format("'{}' has more digits than {} needs", text.substr(0, 40), what), hint);
    }
    if (number.length == 0) {
        return fail({}, fmt::format("'{}' is not {}", text.substr(0, 40), what), hint);
    }
    std::string_view unit = text.substr(number.length);
    while (!unit.empty() && unit.front() == ' ') {
        unit.remove_prefix(1);
    }
    if (unit.empty()) {
        return fail({}, fmt::format("'{}' has no unit; {} is due", text, what), hint);
    }
    for (const Unit& known : units) {
        if (unit == known.name) {
            return Parsed{number, known.scale};
        }
    }
    return fail({}, fmt::format("'{}' is not a unit of {}", unit.substr(0, 40), what), hint);
}

Result<std::int64_t> parse_quantity(std::string_view text,
                                    std::string_view what,
                                    std::string_view example,
                                    std::span<const Unit> units) {
    const Result<Parsed> parsed = parse(text, what, example, units);
    if (!parsed) {
        return unexpected<Error>(parsed.error());
    }
    const auto [number, scale] = *parsed;
    const __int128 product = static_cast<__int128>(number.digits) * scale;
    const __int128 rounded = (product + number.fraction / 2) / number.fraction;
    if (rounded > std::numeric_limits<std::int64_t>::max() / 4) {
        return fail({}, fmt::format("'{}' is larger than {} can be", text, what), {});
    }
    return static_cast<std::int64_t>(rounded);
}

std::string exact_text(std::int64_t value, std::span<const Unit> units) {
    for (const Unit& unit : units) {
        if (value != 0 && value % unit.scale == 0) {
            return fmt::format("{} {}", value / unit.scale, unit.name);
        }
    }
    return fmt::format("{} {}", value, units.back().name);
}

std::string three_digits(double value) {
    if (value >= 99.95) {
        return fmt::format("{:.0f}", value);
    }
    return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::vector<std::string_view> names_of(std::span<const Unit> units) {
    std::vector<std::string_view> names;
    for (const Unit& unit : units) {
        names.push_back(unit.name);
    }
    return names;
}

}  // namespace

std::vector<std::string_view> bandwidth_units() {
    return names_of(kBandwidthUnits);
}

std::vector<std::string_view> bytes_units() {
    return names_of(kBytesUnits);
}

std::vector<std::string_view> time_units() {
    return names_of(kTimeUnits);
}

std::vector<std::string_view> flop_rate_units() {
    return names_of(kFlopUnits);
}

Result<Bandwidth> parse_bandwidth(std::string_view text) {
    return parse_quantity(text, "a bandwidth", "200 Gbps", kBandwidthUnits).map([](std::int64_t v) {
        return Bandwidth::bits_per_second(v);
    });
}

Result<Bytes> parse_bytes(std::string_view text) {
    return parse_quantity(text, "a size", "80 GiB", kBytesUnits).map([](std::int64_t v) {
        return Bytes{v};
    });
}

Result<Time> parse_time(std::string_view text) {
    return parse_quantity(text, "a time", "2 us", kTimeUnits).map([](std::int64_t v) {
        return Time::picoseconds(v);
    });
}

Result<FlopRate> parse_flop_rate(std::string_view text) {
    return parse(text, "a rate of floating-point operations", "312 TFLOPS", kFlopUnits)
        .map([](const Parsed& p) {
            return FlopRate::per_second(static_cast<double>(p.number.digits) *
                                        static_cast<double>(p.scale) /
                                        static_cast<double>(p.number.fraction));
        });
}

std::string to_text(Bandwidth bandwidth) {
    return exact_text(bandwidth.bits_per_second(), kBandwidthUnits);
}

std::string to_text(Bytes bytes) {
    return exact_text(bytes.count(), kBytesUnits);
}

std::string to_text(Time time) {
    return exact_text(time.picoseconds(), kTimeUnits);
}

std::string to_short_text(Bytes bytes) {
    const auto value = static_cast<double>(bytes.count());
    constexpr double kKibi = 1024;
    if (value >= 0.9995 * kKibi * kKibi * kKibi) {
        return three_digits(value / (kKibi * kKibi * kKibi)) + " GiB";
    }
    if (value >= 0.9995 * kKibi * kKibi) {
        return three_digits(value / (kKibi * kKibi)) + " MiB";
    }
    return value >= kKibi ? three_digits(value / kKibi) + " KiB"
                          : fmt::format("{} B", bytes.count());
}

std::string to_short_text(Time time) {
    if (time < Time{}) {
        return "-" + to_short_text(Time{} - time);
    }
    const double seconds = time.seconds();
    if (time == Time{}) {
        return "0 s";
    }
    if (seconds >= 0.9995) {
        return three_digits(seconds) + " s";
    }
    if (seconds >= 0.9995e-3) {
        return three_digits(seconds * 1e3) + " ms";
    }
    return three_digits(seconds * 1e6) + " us";
}

}  // namespace orrery
