// SPDX-License-Identifier: Apache-2.0
// Arithmetic on rows of fp32 numbers for the CPU kernels. Sums run in 16 lanes (element i in lane i
// mod 16), and the lanes are added as a tree. This order is the same on every machine, and
// compilers vectorise it without reordering. The exponential is our own because the C library's
// differs in the last bit between machines.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace orrery {

inline constexpr std::size_t kSumLanes = 16;

float sum(std::span<const float> x);
float dot(std::span<const float> x, std::span<const float> y);
float maximum(std::span<const float> x);  // -infinity if x is empty
// y += x
void add_to(std::span<float> y, std::span<const float> x);
// x = exp(x - shift); returns the sum.
float exponentials(std::span<float> x, float shift);

// exp(x) to about 2 units in the last place. x = n log 2 + r with |r| <= log(2) / 2; the Taylor
// polynomial of degree 7 of r (remainder 2^-27); the exponent shifted by n. Below -87.3: 0, above
// 88.3: infinity.
inline float exponential(float x) {
    constexpr float kRound = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
    constexpr float kLogTwoHigh = 0x1.62ep-1f;  // 12 bits: its product with n is exact
    constexpr float kLogTwoLow = 0x1.0bfbe8p-15f;
    const float shifted = x * 0x1.715476p0f + kRound;
    const float n = shifted - kRound;
    const float r = (x - n * kLogTwoHigh) - n * kLogTwoLow;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127u) << 23);
    // Select between bits, not floats: g++ 12 turns selects of floats into branches in a loop,
    // which it then does not vectorise, except for AVX-512.
    const std::uint32_t not_below = x < -87.3f ? 0u : 0xFFFFFFFFu;
    const std::uint32_t above = x > 88.3f ? 0xFFFFFFFFu : 0u;
    const std::uint32_t inside = std::bit_cast<std::uint32_t>(p * power) & not_below;
    return std::bit_cast<float>((inside & ~above) | (0x7F800000u & above));
}

}  // namespace orrery
