// SPDX-License-Identifier: Apache-2.0
#include "kernels/random.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace orrery {

std::array<std::uint32_t, 4> random_words(const RandomKey& key, std::uint64_t block) {
    const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
    const std::uint32_t high = low(block >> 32) | static_cast<std::uint32_t>(key.purpose) << 24;
    const r123::Philox4x32::ctr_type counter = {{low(block), high, key.stream, key.round}};
    const r123::Philox4x32::key_type philox_key = {{low(key.seed), low(key.seed >> 32)}};
    const r123::Philox4x32::ctr_type words = r123::Philox4x32{}(counter, philox_key);
    return {words[0], words[1], words[2], words[3]};
}

namespace {

// A pair of normal values by Box and Muller.
struct NormalPair {
    double radius;
    double angle;
    NormalPair(std::uint32_t first, std::uint32_t second)
        // 1 - u is in (0, 1], so that its logarithm is finite.
        : radius(std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(uniform(first))))),
          angle(2.0 * std::numbers::pi * static_cast<double>(uniform(second))) {}
    float even() const { return static_cast<float>(radius * std::cos(angle)); }
    float odd() const { return static_cast<float>(radius * std::sin(angle)); }
};

}  // namespace

float normal(const RandomKey& key, std::int64_t index) {
    const auto element = static_cast<std::uint64_t>(index);
    const std::array<std::uint32_t, 4> words = random_words(key, element / 4);
    const std::size_t first = element % 4 / 2 * 2;
    const NormalPair pair{words[first], words[first + 1]};
    return element % 2 == 0 ? pair.even() : pair.odd();
}

void normals(const RandomKey& key, std::int64_t first, std::span<float> values) {
    std::size_t i = 0;
    while (i < values.size()) {
        const std::int64_t element = first + static_cast<std::int64_t>(i);
        if (element % 4 != 0 || values.size() - i < 4) {
            values[i++] = normal(key, element);
            continue;
        }
        const std::array<std::uint32_t, 4> words =
            random_words(key, static_cast<std::uint64_t>(element) / 4);
        for (const std::size_t of : {std::size_t{0}, std::size_t{2}}) {
            const NormalPair pair{words[of], words[of + 1]};
            values[i++] = pair.even();
            values[i++] = pair.odd();
        }
    }
}

}  // namespace orrery
