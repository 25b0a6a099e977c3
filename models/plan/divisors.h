// SPDX-License-Identifier: Apache-2.0
// Divisors of a number: the possible parallel sizes, for hints and for the search.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

// The divisors of n > 0, ascending, in O(sqrt n).
std::vector<std::int64_t> divisors(std::int64_t n);

}  // namespace orrery
