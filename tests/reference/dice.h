// SPDX-License-Identifier: Apache-2.0
// Small reproducible random numbers for tests: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), the
// same on every platform.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::reference {

constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

class Dice {
public:
    explicit Dice(std::uint64_t seed) : state_(mixed(seed + 1)) {}

    std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15u); }
    // Inclusive.
    template <class Int>
    Int between(Int low, Int high) {
        const auto span = static_cast<std::uint64_t>(high - low) + 1;
        return static_cast<Int>(low + static_cast<Int>(next() % span));
    }
    bool chance(std::uint32_t percent) { return next() % 100 < percent; }
    template <class T>
    const T& pick(const std::vector<T>& all) {
        return all[next() % all.size()];
    }

private:
    std::uint64_t state_;
};

}  // namespace orrery::reference
