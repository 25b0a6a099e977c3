// SPDX-License-Identifier: Apache-2.0
// Time, data, work and rates as distinct types: a mistake with units does not compile. Integers
// keep them exact. One byte at 400 Gb/s takes 20 ps, and a Time holds up to 106 days.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "engine/base/check.h"

namespace orrery {

// Exact simulated time, or a span of it, in picoseconds.
class Time {
public:
    constexpr Time() = default;
    static constexpr Time picoseconds(std::int64_t ps) { return Time{ps}; }
    // Rounds to the nearest picosecond and clamps to the range.
    static constexpr Time seconds(double s) {
        const double ps = s * 1e12 + (s < 0 ? -0.5 : 0.5);
        if (ps >= 9.2e18) {
            return max();
        }
        return ps <= -9.2e18 ? Time{-max().ps_} : Time{static_cast<std::int64_t>(ps)};
    }
    static constexpr Time max() { return Time{std::numeric_limits<std::int64_t>::max()}; }
    constexpr std::int64_t picoseconds() const { return ps_; }
    constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
    constexpr double microseconds() const { return static_cast<double>(ps_) * 1e-6; }
    constexpr auto operator<=>(const Time&) const = default;
    constexpr Time& operator+=(Time other) {
        ps_ += other.ps_;
        return *this;
    }
    constexpr Time& operator-=(Time other) {
        ps_ -= other.ps_;
        return *this;
    }
    friend constexpr Time operator+(Time a, Time b) { return Time{a.ps_ + b.ps_}; }
    friend constexpr Time operator-(Time a, Time b) { return Time{a.ps_ - b.ps_}; }
    friend constexpr Time operator*(Time a, std::int64_t n) { return Time{a.ps_ * n}; }
    friend constexpr double operator/(Time a, Time b) {
        return static_cast<double>(a.ps_) / static_cast<double>(b.ps_);
    }

private:
    explicit constexpr Time(std::int64_t ps) : ps_(ps) {}
    std::int64_t ps_ = 0;
};

class Bytes {
public:
    constexpr Bytes() = default;
    explicit constexpr Bytes(std::int64_t n) : n_(n) {}
    constexpr std::int64_t count() const { return n_; }
    constexpr auto operator<=>(const Bytes&) const = default;
    constexpr Bytes& operator+=(Bytes other) {
        n_ += other.n_;
        return *this;
    }
    constexpr Bytes& operator-=(Bytes other) {
        n_ -= other.n_;
        return *this;
    }
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.n_ + b.n_}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.n_ - b.n_}; }
    friend constexpr Bytes operator*(Bytes a, std::int64_t k) { return Bytes{a.n_ * k}; }
    friend constexpr std::int64_t operator/(Bytes a, Bytes b) { return a.n_ / b.n_; }

private:
    std::int64_t n_ = 0;
};

// Bits per second. A link that is down has zero.
class Bandwidth {
public:
    constexpr Bandwidth() = default;
    static constexpr Bandwidth bits_per_second(std::int64_t v) { return Bandwidth{v}; }
    static constexpr Bandwidth bytes_per_second(std::int64_t v) { return Bandwidth{v * 8}; }
    constexpr std::int64_t bits_per_second() const { return bps_; }
    constexpr double gigabytes_per_second() const { return static_cast<double>(bps_) * 1.25e-10; }
    constexpr auto operator<=>(const Bandwidth&) const = default;
    friend constexpr Bandwidth operator+(Bandwidth a, Bandwidth b) {
        return Bandwidth{a.bps_ + b.bps_};
    }
    friend constexpr Bandwidth operator*(Bandwidth a, std::int64_t k) {
        return Bandwidth{a.bps_ * k};
    }
    // The time until the last bit has left, rounded up to a picosecond. Over a link that is down,
    // or beyond the range of Time, the result is Time::max().
    friend constexpr Time operator/(Bytes n, Bandwidth b) {
        if (n.count() == 0) {
            return Time{};
        }
        if (b.bps_ == 0) {
            return Time::max();
        }
        const auto bit_picoseconds = static_cast<__int128>(n.count()) * 8 * 1'000'000'000'000;
        const auto ps = (bit_picoseconds + b.bps_ - 1) / b.bps_;
        return ps >= Time::max().picoseconds()
                   ? Time::max()
                   : Time::picoseconds(static_cast<std::int64_t>(ps));
    }

private:
    explicit constexpr Bandwidth(std::int64_t bps) : bps_(bps) {}
    std::int64_t bps_ = 0;
};

// Floating-point operations (a count, not a rate).
class Flop {
public:
    constexpr Flop() = default;
    explicit constexpr Flop(double n) : n_(n) {}
    constexpr double count() const { return n_; }
    constexpr auto operator<=>(const Flop&) const = default;
    constexpr Flop& operator+=(Flop other) {
        n_ += other.n_;
        return *this;
    }
    friend constexpr Flop operator+(Flop a, Flop b) { return Flop{a.n_ + b.n_}; }
    friend constexpr Flop operator*(Flop a, double k) { return Flop{a.n_ * k}; }

private:
    double n_ = 0;
};

class FlopRate {
public:
    constexpr FlopRate() = default;
    static constexpr FlopRate per_second(double v) { return FlopRate{v}; }
    constexpr double per_second() const { return v_; }
    constexpr auto operator<=>(const FlopRate&) const = default;
    friend constexpr Time operator/(Flop work, FlopRate r) {
        return Time::seconds(work.count() / r.v_);
    }

private:
    explicit constexpr FlopRate(double v) : v_(v) {}
    double v_ = 0;
};

namespace literals {
using ull = unsigned long long;
constexpr std::int64_t signed_count(ull v) { return static_cast<std::int64_t>(v); }
constexpr Time operator""_ps(ull v) { return Time::picoseconds(signed_count(v)); }
constexpr Time operator""_ns(ull v) { return Time::picoseconds(signed_count(v) * 1'000); }
constexpr Time operator""_us(ull v) { return Time::picoseconds(signed_count(v) * 1'000'000); }
constexpr Time operator""_ms(ull v) { return Time::picoseconds(signed_count(v) * 1'000'000'000); }
constexpr Bytes operator""_B(ull v) { return Bytes{signed_count(v)}; }
constexpr Bytes operator""_KiB(ull v) { return Bytes{signed_count(v) << 10}; }
constexpr Bytes operator""_MiB(ull v) { return Bytes{signed_count(v) << 20}; }
constexpr Bytes operator""_GiB(ull v) { return Bytes{signed_count(v) << 30}; }
constexpr Bytes operator""_GB(ull v) { return Bytes{signed_count(v) * 1'000'000'000}; }
constexpr Bandwidth operator""_Gbps(ull v) {
    return Bandwidth::bits_per_second(signed_count(v) * 1'000'000'000);
}
constexpr Bandwidth operator""_GBps(ull v) {
    return Bandwidth::bytes_per_second(signed_count(v) * 1'000'000'000);
}
constexpr FlopRate operator""_TFLOPS(ull v) {
    return FlopRate::per_second(static_cast<double>(v) * 1e12);
}
static_assert(400_Gbps == 50_GBps);
static_assert((1_B / 400_Gbps).picoseconds() == 20);
}  // namespace literals

}  // namespace orrery
