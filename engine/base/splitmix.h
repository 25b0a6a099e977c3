// SPDX-License-Identifier: Apache-2.0
// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection of 64-bit words
// that mixes all bits.
#pragma once

#include <cstdint>

namespace orrery {

constexpr std::uint64_t splitmix64(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

}  // namespace orrery
