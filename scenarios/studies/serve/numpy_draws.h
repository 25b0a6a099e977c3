// SPDX-License-Identifier: Apache-2.0
// The whole numbers that NumPy's legacy generator draws. Benchmark clients state its seed, so that
// the lengths of their requests are known.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace orrery {

// numpy.random.randint(lowest, highest + 1, size=count) after numpy.random.seed(seed), whose state
// std::mt19937{seed} is. Ranges are below 2^32.
std::vector<std::int64_t> numpy_integers(std::mt19937& generator,
                                         std::int64_t lowest,
                                         std::int64_t highest,
                                         std::int64_t count);

}  // namespace orrery
