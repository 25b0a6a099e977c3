// SPDX-License-Identifier: Apache-2.0
// Random numbers by counter: number n of (seed, entity, purpose) is a pure function of the four, so
// that a new link or flow does not change the draws of another. It is the finaliser of splitmix64
// (Steele et al., OOPSLA 2014) over a keyed counter. A switch draws one for every packet that it
// may mark.
#pragma once

#include <cstdint>

namespace orrery::packet {

enum class DrawPurpose : std::uint8_t { mark, trim, path, hash_salt };

constexpr std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

constexpr std::uint64_t draw_key(std::uint64_t seed, DrawPurpose purpose) {
    return mix64(seed * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(purpose) + 1);
}

// 32 bits, uniform.
constexpr std::uint32_t draw(std::uint64_t key, std::uint32_t entity, std::uint32_t n) {
    const std::uint64_t counter = std::uint64_t{entity} << 32 | n;
    return static_cast<std::uint32_t>(mix64(mix64(counter + 0x9e3779b97f4a7c15) ^ key) >> 32);
}

}  // namespace orrery::packet
