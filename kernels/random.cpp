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

float normal(const RandomKey& key, std::int64_t index) {
    const auto element = static_cast<std::uint64_t>(index);
    const std::array<std::uint32_t, 4> words = random_words(key, element / 4);
    const std::size_t pair = element % 4 / 2 * 2;
    // 1 - u is in (0, 1]: its logarithm is finite.
    const double radius =
        std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(uniform(words[pair]))));
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(uniform(words[pair + 1]));
    return static_cast<float>(radius * (element % 2 == 0 ? std::cos(angle) : std::sin(angle)));
}

}  // namespace orrery
