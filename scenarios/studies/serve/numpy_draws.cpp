// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/numpy_draws.h"

#include <bit>

namespace orrery {

// A number has as many bits as the range, and is drawn again while it lies outside (NumPy,
// numpy/random/src/distributions/distributions.c: buffered_bounded_masked_uint32).
std::vector<std::int64_t> numpy_integers(std::mt19937& generator,
                                         std::int64_t lowest,
                                         std::int64_t highest,
                                         std::int64_t count) {
    const auto range = static_cast<std::uint32_t>(highest - lowest);
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << std::bit_width(range)) - 1);
    std::vector<std::int64_t> numbers;
    numbers.reserve(static_cast<std::size_t>(count));
    while (std::ssize(numbers) < count) {
        std::uint32_t above = 0;
        do {
            above = range == 0 ? 0 : static_cast<std::uint32_t>(generator()) & mask;
        } while (above > range);
        numbers.push_back(lowest + above);
    }
    return numbers;
}

}  // namespace orrery
